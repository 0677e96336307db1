import { Link } from '@tanstack/react-router';
import { Flex, Typography } from 'antd';
import type { CreditNote } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { CreditNoteText } from '@/features/billing/credit-notes';
import { useTexts as useBillingTexts } from '@/features/billing/texts';
import { formatMoney } from '@/lib/amount';
import { ConsoleList } from './console-list';
import { CustomerLink } from './customer-link';
import { creditNotesQuery } from './queries';
import { RequireAdmin } from './require-admin';
import { useTexts } from './texts';

/** The credit notes of the store. */
export function CreditNotesPage({ page = 1 }: { page?: number }) {
  const { t, language } = useTexts();
  const { t: billing } = useBillingTexts();
  usePageTitle(t('notes.title'));
  return (
    <RequireAdmin>
      <Flex vertical gap={24}>
        <div>
          <Typography.Title level={1}>{t('notes.title')}</Typography.Title>
          <Typography.Text type="secondary">{t('notes.lead')}</Typography.Text>
        </div>
        <ConsoleList<CreditNote>
          query={creditNotesQuery(page)}
          page={page}
          label={t('notes.title')}
          empty={t('notes.empty')}
          failed={t('notes.error')}
          columns={[
            {
              key: 'note',
              title: t('notes.note'),
              render: (_, note) => (
                <CreditNoteText
                  note={note}
                  money={(units) => formatMoney(units ?? '0', note.paymentCurrency, language)}
                />
              ),
            },
            {
              key: 'invoice',
              title: t('list.invoice'),
              render: (_, { invoice_id: id, invoice_number: number }) => (
                <Link to="/console/invoices/$id" params={{ id }}>
                  {number || id}
                </Link>
              ),
            },
            {
              key: 'customer',
              title: t('list.customer'),
              render: (_, { customer_id: id, customer }) => <CustomerLink id={id} customer={customer} />,
            },
            {
              key: 'total',
              title: billing('invoice.amount'),
              align: 'end',
              className: 'money',
              render: (_, { total, paymentCurrency }) => formatMoney(total, paymentCurrency, language),
            },
          ]}
        />
      </Flex>
    </RequireAdmin>
  );
}
