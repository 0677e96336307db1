import { useMutation, useQuery } from '@tanstack/react-query';
import { Alert, Button, Flex, Typography } from 'antd';
import type { ReactNode } from 'react';
import { api } from '@/api/client';
import type { FoundPayment, Page } from '@/api/types';
import { queryClient, useUser } from '@/app/queries';
import { RecordTable } from '@/features/billing/record-table';
import { ShortCode } from '@/features/reviews/short-code';
import { translateError } from '@/i18n/translate';
import { formatMoney } from '@/lib/amount';
import { dateTimeText } from '@/lib/format';
import { foundPaymentsQuery } from './queries';
import { useTexts } from './texts';

/** Payments that a restored store has found at its networks and that belong to nothing it knows. Nothing if there are none. */
export function FoundPayments(): ReactNode {
  const { t, language } = useTexts();
  const user = useUser();
  const { data } = useQuery(foundPaymentsQuery);
  const handle = useMutation({
    mutationFn: ({ payment_method_id, reference }: FoundPayment) =>
      api.put<Page<FoundPayment>>('/api/restore/found-payments/handled', { payment_method_id, reference }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: foundPaymentsQuery.queryKey }),
  });
  if (!data?.count) return null;
  const list = data.list.map((payment) => ({ ...payment, id: `${payment.payment_method_id} ${payment.reference}` }));
  return (
    <Flex vertical gap={16}>
      <div>
        <Typography.Title level={2}>{t('found.title')}</Typography.Title>
        <Typography.Text type="secondary">{t('found.lead')}</Typography.Text>
      </div>
      {handle.isError ? (
        <Alert type="error" showIcon title={t('found.failed')} description={translateError(handle.error)} />
      ) : null}
      <RecordTable<FoundPayment & { id: string }>
        label={t('found.title')}
        list={list}
        isLoading={false}
        columns={[
          {
            key: 'moved',
            title: t('found.moved'),
            render: (_, { moved_at: at }) => dateTimeText(Date.parse(at), language),
          },
          {
            key: 'direction',
            title: t('found.direction'),
            render: (_, { incoming }) => t(incoming ? 'found.received' : 'found.sent'),
          },
          {
            key: 'amount',
            title: t('found.amount'),
            align: 'end',
            className: 'money',
            render: (_, { amount, currency }) => formatMoney(amount, currency, language),
          },
          {
            key: 'account',
            title: t('found.account'),
            render: (_, { account }) => (account ? <ShortCode text={account} /> : t('found.card')),
          },
          {
            key: 'reference',
            title: t('found.reference'),
            render: (_, { reference }) => <ShortCode text={reference} />,
          },
          {
            key: 'action',
            title: <span className="sr-only">{t('found.action')}</span>,
            fixed: 'end',
            render: (_, payment) =>
              user?.role === 'owner' ? (
                <Button
                  size="small"
                  loading={handle.isPending && handle.variables.reference === payment.reference}
                  onClick={() => handle.mutate(payment)}
                >
                  {t('found.handled')}
                </Button>
              ) : null,
          },
        ]}
      />
    </Flex>
  );
}
