import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, Descriptions, Flex, Typography } from 'antd';
import { useState } from 'react';
import { ApiError } from '@/api/error';
import type { CustomerBalance as CurrencyBalance } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { CustomerBalance } from '@/features/billing/customer-balance';
import { Invoices } from '@/features/billing/invoices';
import styles from '@/features/billing/pages.module.css';
import { subscriptionName } from '@/features/billing/price-text';
import { EmptyState, LoadError, Loading, PageResult, Section } from '@/features/billing/states';
import { SubscriptionTag } from '@/features/billing/status';
import { useTexts as useBillingTexts } from '@/features/billing/texts';
import { toUnits } from '@/lib/amount';
import { useAdminTexts } from './admin-texts';
import { EraseCustomer } from './erase-customer';
import { PayoutDialog } from './payout-dialog';
import { customerPageQuery, customerSubscriptionsQuery } from './queries';
import { RequireAdmin } from './require-admin';
import { RevokeLinks } from './revoke-links';
import { useTexts } from './texts';

interface CustomerPageProps {
  id: string;
  page?: number;
  pageSize?: number;
}

/** A customer of the store: contact, balance with its transactions and payouts, subscriptions, invoices. */
export function CustomerPage({ id, page, pageSize }: CustomerPageProps) {
  const { t } = useTexts();
  const { t: billing } = useBillingTexts();
  const { data, error, refetch } = useQuery(customerPageQuery(id));
  const notFound = error instanceof ApiError && (error.status === 404 || error.status === 403);
  const name = data?.name || data?.email || data?.did;
  usePageTitle(name ?? t('customer.title'));
  return (
    <RequireAdmin>
      {data ? (
        <Flex vertical gap={40}>
          <div>
            <Typography.Title level={1}>{name}</Typography.Title>
            <Descriptions
              className={styles.details}
              layout="vertical"
              colon={false}
              column={{ xs: 1, sm: 2 }}
              items={[
                { key: 'email', label: billing('profile.email'), children: data.email || '–' },
                { key: 'phone', label: billing('profile.phone'), children: data.phone || '–' },
                {
                  key: 'did',
                  label: billing('profile.did'),
                  span: 'filled',
                  children: <span style={{ overflowWrap: 'anywhere' }}>{data.did}</span>,
                },
              ]}
            />
          </div>
          <Section id="balance" title={billing('customerBalance.title')}>
            <CustomerBalance
              owner={{ customerId: data.id }}
              area="console"
              action={(balance) => <PayoutButton customerId={data.id} balance={balance} />}
            />
          </Section>
          <Section id="subscriptions" title={billing('subscriptions.title')}>
            <Subscriptions customerId={data.id} />
          </Section>
          <Section id="invoices" title={billing('portal.invoices')}>
            <Invoices page={page} pageSize={pageSize} scope={{ customerId: data.id }} area="console" />
          </Section>
          <RevokeLinks customerId={data.id} />
          <EraseCustomer customerId={data.id} name={name || data.id} />
        </Flex>
      ) : notFound ? (
        <PageResult status="warning" title={t('customer.notFound')} text={billing('invoice.notFoundAdmin')} />
      ) : error ? (
        <LoadError title={t('customer.error')} error={error} onRetry={() => void refetch()} />
      ) : (
        <Loading title rows={12} />
      )}
    </RequireAdmin>
  );
}

/** Pays out a balance, except what is reserved for unpaid invoices. */
function PayoutButton({ customerId, balance }: { customerId: string; balance: CurrencyBalance }) {
  const { t } = useAdminTexts();
  const [open, setOpen] = useState(false);
  if (toUnits(balance.payout_limit) <= 0n && !open)
    return <Typography.Text type="secondary">{t('payout.reserved')}</Typography.Text>;
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('payout.action')}</Button>
      {open ? <PayoutDialog customerId={customerId} balance={balance} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function Subscriptions({ customerId }: { customerId: string }) {
  const texts = useBillingTexts();
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(customerSubscriptionsQuery(customerId));
  if (error && !data)
    return <LoadError title={texts.t('subscriptions.error')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading rows={2} />;
  if (data.list.length === 0) return <EmptyState text={t('customer.noSubscriptions')} />;
  return (
    <Flex vertical gap={8}>
      {data.list.map((subscription) => (
        <Flex key={subscription.id} gap={12} wrap>
          <Link to="/console/subscriptions/$id" params={{ id: subscription.id }}>
            {subscriptionName(subscription, texts)}
          </Link>
          <SubscriptionTag subscription={subscription} />
        </Flex>
      ))}
    </Flex>
  );
}
