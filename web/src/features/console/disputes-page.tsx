import { Link, useNavigate } from '@tanstack/react-router';
import { Flex, Segmented, Typography } from 'antd';
import type { Dispute } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { DisputeTag } from '@/features/billing/status';
import { useTexts as useBillingTexts } from '@/features/billing/texts';
import { formatMoney } from '@/lib/amount';
import { ConsoleList } from './console-list';
import { CustomerLink } from './customer-link';
import { DisputeText } from './disputes';
import { disputesQuery } from './queries';
import { RequireAdmin } from './require-admin';
import { useTexts } from './texts';

/** The disputes of the store: those that are not decided, or all. */
export function DisputesPage({ page = 1, open = false }: { page?: number; open?: boolean }) {
  const { t, language } = useTexts();
  const { t: billing } = useBillingTexts();
  const navigate = useNavigate();
  usePageTitle(t('disputes.title'));
  const show = (shown: string) =>
    void navigate({ to: '/console/disputes', search: { open: shown === 'open' || undefined } });
  return (
    <RequireAdmin>
      <Flex vertical gap={24} align="stretch">
        <div>
          <Typography.Title level={1}>{t('disputes.title')}</Typography.Title>
          <Typography.Text type="secondary">{t('disputes.lead')}</Typography.Text>
        </div>
        <div>
          <Segmented
            aria-label={t('disputes.shown')}
            value={open ? 'open' : 'all'}
            onChange={show}
            options={(['all', 'open'] as const).map((value) => ({ value, label: t(`disputes.show.${value}`) }))}
          />
        </div>
        <ConsoleList<Dispute>
          query={disputesQuery(page, open)}
          page={page}
          label={t('disputes.title')}
          empty={t(open ? 'disputes.emptyOpen' : 'disputes.empty')}
          failed={t('disputes.error')}
          columns={[
            { key: 'dispute', title: t('disputes.dispute'), render: (_, dispute) => <DisputeText dispute={dispute} /> },
            {
              key: 'status',
              title: billing('invoice.status'),
              render: (_, { status }) => <DisputeTag status={status} />,
            },
            {
              key: 'invoice',
              title: t('list.invoice'),
              render: (_, { invoice_ids: ids }) => (
                <Flex vertical>
                  {ids.map((id) => (
                    <Link key={id} to="/console/invoices/$id" params={{ id }} title={id}>
                      {t('list.openInvoice')}
                    </Link>
                  ))}
                </Flex>
              ),
            },
            {
              key: 'customer',
              title: t('list.customer'),
              render: (_, { customer_id: id, customer }) => <CustomerLink id={id} customer={customer} />,
            },
            {
              key: 'amount',
              title: billing('invoice.amount'),
              align: 'end',
              className: 'money',
              render: (_, { amount, paymentCurrency }) => formatMoney(amount, paymentCurrency, language),
            },
          ]}
        />
      </Flex>
    </RequireAdmin>
  );
}
