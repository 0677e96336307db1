import { Link } from '@tanstack/react-router';
import { Table, Typography } from 'antd';
import type { Invoice } from '@/api/types';
import { useUser } from '@/app/queries';
import { descriptionText, remainingAmount } from '@/features/billing/invoice-text';
import { subscriptionName } from '@/features/billing/price-text';
import { useTexts } from '@/features/billing/texts';
import { dateText } from '@/lib/format';

/** The unpaid invoices, each with its day and amount. */
export function OverdueInvoices({ invoices }: { invoices: Invoice[] }) {
  const texts = useTexts();
  const { t, language } = texts;
  // An email link opens one page only.
  const user = useUser();
  return (
    <Table<Invoice>
      aria-label={t('overdue.invoices')}
      rowKey="id"
      size="small"
      showHeader={false}
      pagination={false}
      dataSource={invoices}
      columns={[
        {
          key: 'invoice',
          render: (_, invoice) => {
            const name = t('invoice.title', { number: invoice.number || t('invoice.draft.number') });
            return (
              <>
                {user ? (
                  <Link to="/customer/invoice/$id" params={{ id: invoice.id }}>
                    {name}
                  </Link>
                ) : (
                  name
                )}
                <br />
                <Typography.Text type="secondary">
                  {invoice.subscription
                    ? subscriptionName(invoice.subscription, texts)
                    : descriptionText(invoice, texts)}{' '}
                  · {dateText(invoice.created_at, language)}
                </Typography.Text>
              </>
            );
          },
        },
        {
          key: 'amount',
          align: 'end',
          className: 'money',
          render: (_, invoice) => remainingAmount(invoice, texts),
        },
      ]}
    />
  );
}
