import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Flex, Tag, Typography } from 'antd';
import type { PaymentMethod } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { methodText } from '@/features/billing/invoice-text';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { useTexts as useBillingTexts } from '@/features/billing/texts';
import { methodsQuery } from './queries';
import { RequireAdmin } from './require-admin';
import { useTexts } from './texts';

/** The payment methods of the store. */
export function PaymentMethodsPage() {
  const { t } = useTexts();
  usePageTitle(t('methods.title'));
  return (
    <RequireAdmin>
      <Flex vertical gap={24} align="stretch">
        <div>
          <Typography.Title level={1}>{t('methods.title')}</Typography.Title>
          <Typography.Text type="secondary">{t('methods.lead')}</Typography.Text>
        </div>
        <Methods />
      </Flex>
    </RequireAdmin>
  );
}

function Methods() {
  const { t } = useTexts();
  const { t: billing } = useBillingTexts();
  const { data, error, isPending, refetch } = useQuery(methodsQuery);
  if (error && !data) return <LoadError title={t('methods.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.length === 0) return <EmptyState text={t('methods.empty')} />;
  return (
    <RecordTable<PaymentMethod>
      label={t('methods.title')}
      isLoading={isPending}
      list={data ?? []}
      columns={[
        {
          key: 'method',
          title: t('methods.method'),
          render: (_, method) => (
            <Link to="/console/payment-methods/$id" params={{ id: method.id }}>
              {methodText(method, { t: billing })}
            </Link>
          ),
        },
        {
          key: 'currencies',
          title: t('methods.currencies'),
          render: (_, { payment_currencies: currencies = [] }) => currencies.map(({ symbol }) => symbol).join(', '),
        },
        {
          key: 'active',
          title: t('methods.status'),
          render: (_, { active }) => (
            <Tag color={active ? 'success' : 'default'}>{t(active ? 'methods.active' : 'methods.inactive')}</Tag>
          ),
        },
      ]}
    />
  );
}
