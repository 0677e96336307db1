import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Flex, Segmented, Tag, Typography } from 'antd';
import type { AppEarning, Earnings, Payee, PaymentCurrency, SharePayout } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { BackLink } from '@/features/billing/back-link';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError, Loading, Section } from '@/features/billing/states';
import { usePagination } from '@/features/billing/use-pagination';
import { REVIEW_PAGE_SIZE } from '@/features/reviews/queries';
import { useSellingTexts } from '@/features/reviews/selling-texts';
import { formatMoney } from '@/lib/amount';
import { dateTimeText } from '@/lib/format';
import { usePhone } from '@/lib/use-phone';
import { earningsQuery, ownPayoutsQuery } from './selling';

interface EarningsPageProps {
  page?: number;
  /** Shows the payouts instead of the apps. */
  payouts?: boolean;
}

/** What the shares of sales have brought to the signed-in user, and what was paid out. */
export function EarningsPage({ page = 1, payouts = false }: EarningsPageProps) {
  const { t } = useSellingTexts();
  const navigate = useNavigate();
  usePageTitle(t('earnings.title'));
  const show = (shown: string) =>
    void navigate({ to: '/developer/earnings', search: { payouts: shown === 'payouts' || undefined } });
  return (
    <Flex vertical gap={24} align="stretch">
      <BackLink to="/developer/apps">{t('earnings.back')}</BackLink>
      <div style={{ maxWidth: 640 }}>
        <Typography.Title level={1}>{t('earnings.title')}</Typography.Title>
        <Typography.Text type="secondary">{t('earnings.lead')}</Typography.Text>
      </div>
      <div>
        <Segmented
          aria-label={t('earnings.shown')}
          value={payouts ? 'payouts' : 'apps'}
          onChange={show}
          options={(['apps', 'payouts'] as const).map((value) => ({ value, label: t(`earnings.show.${value}`) }))}
        />
      </div>
      {payouts ? <Payouts page={page} /> : <AllEarnings page={page} />}
    </Flex>
  );
}

function AllEarnings({ page }: { page: number }) {
  const { t } = useSellingTexts();
  const { data, error, isPlaceholderData, refetch } = useQuery(earningsQuery(page));
  if (error && !data) return <LoadError title={t('earnings.error')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading rows={6} />;
  if (data.count === 0 && data.totals.length === 0) return <EmptyState text={t('earnings.empty')} />;
  return (
    <>
      <Totals totals={data.totals} />
      <ByApp earnings={data} page={page} isLoading={isPlaceholderData} />
    </>
  );
}

/** What all apps have brought in each currency. */
function Totals({ totals }: { totals: Payee[] }) {
  const { t } = useSellingTexts();
  const phone = usePhone();
  const money = useMoney();
  return (
    <Section id="totals" title={t('earnings.totals')}>
      <RecordTable<Payee & { id: string }>
        label={t('earnings.totals')}
        list={totals.map((total) => ({ ...total, id: total.currency_id }))}
        isLoading={false}
        columns={[
          {
            key: 'currency',
            title: t('earnings.currency'),
            render: (_, total) => total.currency?.symbol ?? total.currency_id,
          },
          {
            key: 'earned',
            title: t('earnings.earned'),
            align: 'end',
            className: 'money',
            render: (_, total) => money(total.earned, total.currency),
          },
          {
            key: 'paid',
            title: t('earnings.paidOut'),
            align: 'end',
            className: 'money',
            render: (_, total) => money(total.paid_out, total.currency),
          },
          {
            key: 'payable',
            title: t('earnings.payable'),
            align: 'end',
            className: 'money',
            render: (_, total) => (
              <Flex vertical align={phone ? 'start' : 'end'}>
                <span>{money(total.payable, total.currency)}</span>
                {total.overpaid === '0' ? null : (
                  <Typography.Text type="secondary">
                    {t('earnings.overpaid', { amount: money(total.overpaid, total.currency) })}
                  </Typography.Text>
                )}
              </Flex>
            ),
          },
        ]}
      />
    </Section>
  );
}

function ByApp({ earnings, page, isLoading }: { earnings: Earnings; page: number; isLoading: boolean }) {
  const { t } = useSellingTexts();
  const money = useMoney();
  const pagination = usePagination(page, earnings.count, REVIEW_PAGE_SIZE);
  return (
    <Section id="by-app" title={t('earnings.show.apps')}>
      <RecordTable<AppEarning & { id: string }>
        label={t('earnings.show.apps')}
        list={earnings.list.map((one) => ({ ...one, id: `${one.app_did} ${one.currency_id}` }))}
        isLoading={isLoading}
        pagination={pagination}
        columns={[
          { key: 'app', title: t('earnings.app'), render: (_, earning) => <AppName earning={earning} /> },
          { key: 'sales', title: t('earnings.sales'), align: 'end', render: (_, { sales }) => sales },
          {
            key: 'earned',
            title: t('earnings.earned'),
            align: 'end',
            className: 'money',
            render: (_, { earned, currency }) => money(earned, currency),
          },
        ]}
      />
    </Section>
  );
}

/** An amount in base units; without its currency the units themselves. */
function useMoney() {
  const { language } = useSellingTexts();
  return (amount: string, currency: PaymentCurrency | null) =>
    currency ? formatMoney(amount, currency, language) : amount;
}

function AppName({ earning: { app_did: did, app_title: title } }: { earning: AppEarning }) {
  const { t, language } = useSellingTexts();
  if (did === null) return t('earnings.noApp');
  if (title === null) return <Typography.Text code>{did}</Typography.Text>;
  return (
    <Link to="/apps/$did/{-$version}" params={{ did, version: undefined }}>
      {title[language] || title.en}
    </Link>
  );
}

function Payouts({ page }: { page: number }) {
  const { t, language } = useSellingTexts();
  const money = useMoney();
  const { data, error, isPlaceholderData, refetch } = useQuery(ownPayoutsQuery(page));
  const pagination = usePagination(page, data?.count, REVIEW_PAGE_SIZE);
  if (error && !data) return <LoadError title={t('payouts.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0) return <EmptyState text={t('payouts.empty')} />;
  return (
    <RecordTable<SharePayout>
      label={t('earnings.show.payouts')}
      list={data?.list ?? []}
      isLoading={!data || isPlaceholderData}
      pagination={pagination}
      columns={[
        {
          key: 'time',
          title: t('payouts.time'),
          render: (_, { created_at: at }) => <time dateTime={at}>{dateTimeText(at, language)}</time>,
        },
        {
          key: 'reason',
          title: t('payouts.reason'),
          render: (_, { reason, reverses, reversed }) => (
            <Flex gap={8} wrap>
              <span>{reason}</span>
              {reverses === null ? null : <Tag>{t('payouts.reversal')}</Tag>}
              {reversed ? <Tag>{t('payouts.reversed')}</Tag> : null}
            </Flex>
          ),
        },
        {
          key: 'amount',
          title: t('payouts.amount'),
          align: 'end',
          className: 'money',
          render: (_, { amount, currency, reverses }) => `${reverses === null ? '' : '−'}${money(amount, currency)}`,
        },
      ]}
    />
  );
}
