import { Link, useNavigate } from '@tanstack/react-router';
import { Button, Flex, Segmented, Typography } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import type { Stake } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { useTexts as useBillingTexts } from '@/features/billing/texts';
import { formatMoney } from '@/lib/amount';
import { dateText } from '@/lib/format';
import { ConsoleList } from './console-list';
import { CustomerLink } from './customer-link';
import { stakesQuery } from './queries';
import { RequireAdmin } from './require-admin';
import { type Texts, useTexts } from './texts';

/** The refundable deposits of the store: all, or those whose transfers keep failing. */
export function StakesPage({ page = 1, attention = false }: { page?: number; attention?: boolean }) {
  const { t, language } = useTexts();
  const { t: billing } = useBillingTexts();
  const navigate = useNavigate();
  usePageTitle(t('stakes.title'));
  const show = (shown: string) =>
    void navigate({ to: '/console/stakes', search: { attention: shown === 'attention' || undefined } });
  const money = (amount: string, { paymentCurrency }: Stake) =>
    paymentCurrency ? formatMoney(amount, paymentCurrency, language) : amount;
  return (
    <RequireAdmin>
      <Flex vertical gap={24} align="stretch">
        <div>
          <Typography.Title level={1}>{t('stakes.title')}</Typography.Title>
          <Typography.Text type="secondary">{t('stakes.lead')}</Typography.Text>
        </div>
        <div>
          <Segmented
            aria-label={t('stakes.shown')}
            value={attention ? 'attention' : 'all'}
            onChange={show}
            options={(['all', 'attention'] as const).map((value) => ({ value, label: t(`stakes.show.${value}`) }))}
          />
        </div>
        <ConsoleList<Stake>
          query={stakesQuery(page, attention)}
          page={page}
          label={t('stakes.title')}
          empty={t(attention ? 'stakes.emptyAttention' : 'stakes.empty')}
          failed={t('stakes.error')}
          columns={[
            {
              key: 'stake',
              title: t('stakes.stake'),
              render: (_, stake) => (
                <Flex vertical>
                  <span>{t(`stakes.purpose.${stake.purpose}`)}</span>
                  <Typography.Text type="secondary">{dateText(stake.created_at, language)}</Typography.Text>
                </Flex>
              ),
            },
            {
              key: 'status',
              title: billing('invoice.status'),
              render: (_, stake) => (
                <Flex vertical>
                  <span>{statusText(stake, { t, language })}</span>
                  {stake.release_reason ? (
                    <Typography.Text type="secondary">{t(`stakes.reason.${stake.release_reason}`)}</Typography.Text>
                  ) : null}
                  {stake.failure?.code === 'INSUFFICIENT_GAS' ? (
                    <Typography.Text type="danger">{t('stakes.lacksGas')}</Typography.Text>
                  ) : null}
                  {stake.needs_attention ? (
                    <Typography.Text type="danger">
                      {t('stakes.declined', { count: stake.failure_count ?? 0 })}
                    </Typography.Text>
                  ) : null}
                </Flex>
              ),
            },
            {
              key: 'subscription',
              title: t('stakes.subscription'),
              render: (_, { subscription_id: id, app_did: app, release_reason: reason }) => {
                if (app)
                  return (
                    <span title={app} style={{ overflowWrap: 'anywhere' }}>
                      {t('stakes.app', { did: `${app.slice(0, 8)}…${app.slice(-6)}` })}
                    </span>
                  );
                // The checkout was never completed: there is no subscription.
                return id && reason !== 'abandoned' ? (
                  <Link to="/console/subscriptions/$id" params={{ id }}>
                    {t('stakes.openSubscription')}
                  </Link>
                ) : null;
              },
            },
            {
              key: 'customer',
              title: t('list.customer'),
              render: (_, { customer_id: id, customer }) => <CustomerLink id={id} customer={customer} />,
            },
            {
              key: 'remaining',
              title: t('stakes.remaining'),
              align: 'end',
              className: 'money',
              render: (_, stake) => money(stake.amount_remaining, stake),
            },
            {
              key: 'forfeited',
              title: t('stakes.forfeited'),
              align: 'end',
              className: 'money',
              render: (_, stake) => money(stake.amount_forfeited, stake),
            },
            {
              key: 'action',
              title: <span className="sr-only">{billing('invoice.action')}</span>,
              fixed: 'end',
              render: (_, stake) => <ReturnButton stake={stake} amount={money(stake.amount_remaining, stake)} />,
            },
          ]}
        />
      </Flex>
    </RequireAdmin>
  );
}

/** The status of a deposit; one that is released later names its date. */
function statusText({ status, return_at: at }: Stake, { t, language }: Texts): string {
  return status === 'releasing' && at && at * 1000 > Date.now()
    ? t('stakes.status.waiting', { date: dateText(at * 1000, language) })
    : t(`stakes.status.${status}`);
}

/** Returns a released deposit now. There is no action while a transfer is pending, and none for a deposit that the store keeps. */
function ReturnButton({ stake, amount }: { stake: Stake; amount: string }) {
  const { t } = useTexts();
  const [open, setOpen] = useState(false);
  const isReturning = stake.status === 'releasing' && stake.release_reason !== 'forfeited';
  if (!isReturning || stake.amount_moving !== '0') return null;
  return (
    <>
      <Button size="small" onClick={() => setOpen(true)}>
        {t('stakes.return')}
      </Button>
      {open ? (
        <ConfirmDialog
          title={t('stakes.return')}
          action={t('stakes.return')}
          failedTitle={t('stakes.returnFailed')}
          run={() => api.put<Stake>(`/api/stakes/${encodeURIComponent(stake.id)}/return`, {})}
          onClose={() => setOpen(false)}
          onDone={() => {
            setOpen(false);
            void refreshAfterPayment();
          }}
        >
          <p>{t('stakes.returnText', { amount })}</p>
        </ConfirmDialog>
      ) : null}
    </>
  );
}
