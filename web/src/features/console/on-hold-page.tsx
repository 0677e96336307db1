import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Alert, Button, Flex, Typography } from 'antd';
import { useState } from 'react';
import type { Subscription } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { subscriptionName } from '@/features/billing/price-text';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { dateText } from '@/lib/format';
import { needsChoice, onHoldText } from './admin-rules';
import { useAdminTexts } from './admin-texts';
import { ConsoleList } from './console-list';
import { CustomerLink } from './customer-link';
import { FoundPayments } from './found-payments';
import { PaymentsOnHold } from './payments-on-hold';
import { onHoldQuery } from './queries';
import { RequireAdmin } from './require-admin';
import { ResumeBillingDialog } from './resume-billing-dialog';
import { useTexts } from './texts';
import { TransfersOnHold } from './transfers-on-hold';

/**
 * What waits for a decision: the subscriptions whose billing is on hold, one by one or all at once, payments and transfers on hold, and
 * payments found after a restore.
 */
export function OnHoldPage({ page = 1 }: { page?: number }) {
  const { t, language } = useTexts();
  const adminTexts = useAdminTexts();
  // A subscription, or all of them.
  const [open, setOpen] = useState<Subscription | 'all' | null>(null);
  const [resumed, setResumed] = useState<number | null>(null);
  const { data } = useQuery(onHoldQuery(page));
  usePageTitle(t('holds.title'));
  return (
    <RequireAdmin>
      <Flex vertical gap={24} align="stretch">
        <Flex justify="space-between" gap={16} wrap>
          <div>
            <Typography.Title level={1}>{t('holds.title')}</Typography.Title>
            <Typography.Text type="secondary">{t('holds.lead')}</Typography.Text>
          </div>
          {data?.list.some(needsChoice) ? <Button onClick={() => setOpen('all')}>{t('holds.decideAll')}</Button> : null}
        </Flex>
        <div role="status">
          {resumed === null ? null : (
            <Alert type="success" showIcon role="presentation" title={t('holds.resumed', { count: resumed })} />
          )}
        </div>
        <ConsoleList<Subscription>
          query={onHoldQuery(page)}
          page={page}
          label={t('holds.title')}
          empty={t('holds.empty')}
          failed={t('holds.error')}
          columns={[
            {
              key: 'subscription',
              title: t('stakes.subscription'),
              render: (_, subscription) => (
                <Link to="/console/subscriptions/$id" params={{ id: subscription.id }}>
                  {subscriptionName(subscription, { language })}
                </Link>
              ),
            },
            {
              key: 'customer',
              title: t('list.customer'),
              render: (_, { customer }) => <CustomerLink id={customer.id} customer={customer} />,
            },
            {
              key: 'reason',
              title: t('holds.reason'),
              render: (_, subscription) => onHoldText(subscription, adminTexts),
            },
            {
              key: 'billed',
              title: t('holds.billedUntil'),
              render: (_, { current_period_end: end }) => dateText(end * 1000, language),
            },
            {
              key: 'periods',
              title: t('holds.periods'),
              align: 'end',
              className: 'money',
              render: (_, { unbilled_periods: count }) => count,
            },
            {
              key: 'action',
              title: <span className="sr-only">{t('holds.action')}</span>,
              fixed: 'end',
              render: (_, subscription) =>
                needsChoice(subscription) ? (
                  <Button size="small" onClick={() => setOpen(subscription)}>
                    {t('holds.decide')}
                  </Button>
                ) : null,
            },
          ]}
        />
        <PaymentsOnHold />
        <TransfersOnHold />
        <FoundPayments />
      </Flex>
      {open ? (
        <ResumeBillingDialog
          id={open === 'all' ? undefined : open.id}
          count={open === 'all' ? undefined : open.unbilled_periods}
          nextPeriod={open === 'all' ? undefined : open.next_period_start}
          onClose={() => setOpen(null)}
          onDone={(count) => {
            setResumed(count ?? 1);
            setOpen(null);
            void refreshAfterPayment();
          }}
        />
      ) : null}
    </RequireAdmin>
  );
}
