import { useQuery } from '@tanstack/react-query';
import { Flex, Table, Typography } from 'antd';
import type { ReactNode } from 'react';
import type { InvoiceDetail, Refund } from '@/api/types';
import { useUser } from '@/app/queries';
import { dateText } from '@/lib/format';
import { usePhone } from '@/lib/use-phone';
import { refundsQuery } from './queries';
import { LoadError, Section } from './states';
import { RefundTag } from './status';
import { useTexts } from './texts';

export interface RefundsProps {
  invoice: InvoiceDetail;
  money: (amount: string | undefined) => string;
  /** Shown below a failed refund for administrators, who decide about it; customers read that the store decides. */
  refundAction?: (refund: Refund) => ReactNode;
}

/** The refunds of an invoice; only a signed-in reader may see them. */
function useRefunds(invoiceId: string) {
  return useQuery({ ...refundsQuery(invoiceId), enabled: Boolean(useUser()) });
}

/** The refunds of an invoice. */
export function Refunds({ invoice, money, refundAction }: RefundsProps) {
  const { t, language } = useTexts();
  const phone = usePhone();
  const { data, error, refetch } = useRefunds(invoice.id);
  if (error && !data) {
    // An unpaid invoice has no refunds.
    if (invoice.status !== 'paid') return null;
    return <LoadError title={t('invoice.refunds.error')} error={error} onRetry={() => void refetch()} />;
  }
  if (!data?.list.length) return null;
  return (
    <Section id="refunds" title={t('invoice.refunds')}>
      <Table<Refund>
        aria-label={t('invoice.refunds')}
        rowKey="id"
        showHeader={false}
        pagination={false}
        dataSource={data.list}
        columns={[
          {
            key: 'type',
            render: (_, refund) => (
              <Flex vertical align="start">
                {t(`refund.type.${refund.type}`)}
                {refund.description ? <Typography.Text type="secondary">{refund.description}</Typography.Text> : null}
                <Typography.Text type="secondary">
                  <time dateTime={refund.created_at}>{dateText(refund.created_at, language)}</time>
                </Typography.Text>
                {phone ? <RefundTag status={refund.status} /> : null}
                {refundAction?.(refund) ??
                  (refund.status === 'failed' ? (
                    <Typography.Text type="secondary">{t('refund.failedText')}</Typography.Text>
                  ) : null)}
              </Flex>
            ),
          },
          // As narrow as its tag, so that the tag stands beside the amount.
          { key: 'status', hidden: phone, width: 1, render: (_, { status }) => <RefundTag status={status} /> },
          {
            key: 'amount',
            align: 'end',
            width: 1,
            className: 'money',
            render: (_, { amount }) => <strong>{money(amount)}</strong>,
          },
        ]}
      />
    </Section>
  );
}
