import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Alert, Button, Flex, Typography } from 'antd';
import { type ReactNode, useState } from 'react';
import type { PaymentOnHold } from '@/api/types';
import { RecordTable } from '@/features/billing/record-table';
import { LoadError, Section } from '@/features/billing/states';
import { formatMoney } from '@/lib/amount';
import { transactionLink } from '@/lib/explorer';
import { dateTimeText } from '@/lib/format';
import { CustomerLink } from './customer-link';
import styles from './payments-on-hold.module.css';
import { CONSOLE_PAGE_SIZE, paymentsOnHoldQuery } from './queries';
import { ResolvePaymentDialog } from './resolve-payment-dialog';
import { useTexts } from './texts';

/** Payments whose network moved an amount that differs from the requested one, with the decision about the money. Nothing if there are none. */
export function PaymentsOnHold(): ReactNode {
  const { t, language } = useTexts();
  const [page, setPage] = useState(1);
  const [open, setOpen] = useState<PaymentOnHold | null>(null);
  const [resolved, setResolved] = useState<string | null>(null);
  const { data, error, isPlaceholderData, refetch } = useQuery({
    ...paymentsOnHoldQuery(page),
    placeholderData: keepPreviousData,
  });
  if (error && !data) return <LoadError title={t('heldPayments.error')} error={error} onRetry={() => void refetch()} />;
  const count = data?.count ?? 0;
  if (count === 0 && resolved === null) return null;
  const money = (amount: string, { paymentCurrency }: PaymentOnHold) => formatMoney(amount, paymentCurrency, language);
  return (
    <div className={styles.section}>
      <Section id="payments" title={t('heldPayments.title')}>
        <Flex vertical gap={16}>
          {count > 0 ? <Typography.Text type="secondary">{t('heldPayments.lead')}</Typography.Text> : null}
          <div role="status">
            {resolved === null ? null : <Alert type="success" showIcon role="presentation" title={resolved} />}
          </div>
          {count > 0 ? (
            <RecordTable<PaymentOnHold>
              label={t('heldPayments.title')}
              list={data?.list ?? []}
              isLoading={isPlaceholderData}
              pagination={
                count > CONSOLE_PAGE_SIZE && {
                  current: page,
                  pageSize: CONSOLE_PAGE_SIZE,
                  total: count,
                  showSizeChanger: false,
                  onChange: setPage,
                }
              }
              columns={[
                {
                  key: 'customer',
                  title: t('list.customer'),
                  render: (_, { customer_id: id, customer }) => (
                    <div className={styles.customer}>
                      <CustomerLink id={id} customer={customer} />
                    </div>
                  ),
                },
                {
                  key: 'asked',
                  title: t('heldPayments.asked'),
                  align: 'end',
                  className: 'money',
                  render: (_, payment) => money(payment.amount, payment),
                },
                {
                  key: 'moved',
                  title: t('heldPayments.moved'),
                  align: 'end',
                  className: 'money',
                  render: (_, payment) => <strong>{money(payment.amount_received, payment)}</strong>,
                },
                {
                  key: 'method',
                  title: t('heldPayments.method'),
                  render: (_, payment) => <Transaction payment={payment} />,
                },
                {
                  key: 'date',
                  title: t('heldPayments.date'),
                  render: (_, { held_at: at }) => <time dateTime={at}>{dateTimeText(at, language)}</time>,
                },
                {
                  key: 'invoices',
                  title: t('heldPayments.invoices'),
                  render: (_, { invoices }) =>
                    invoices.length === 0 ? null : (
                      <Flex vertical>
                        {invoices.map(({ id, number }) => (
                          <Link key={id} to="/console/invoices/$id" params={{ id }} title={id}>
                            {number || t('list.openInvoice')}
                          </Link>
                        ))}
                      </Flex>
                    ),
                },
                {
                  key: 'action',
                  title: <span className="sr-only">{t('holds.action')}</span>,
                  render: (_, payment) => (
                    <Button size="small" onClick={() => setOpen(payment)}>
                      {t('holds.decide')}
                    </Button>
                  ),
                },
              ]}
            />
          ) : null}
        </Flex>
        {open ? (
          <ResolvePaymentDialog
            payment={open}
            onClose={() => setOpen(null)}
            onDone={(text) => {
              setResolved(text);
              setOpen(null);
              // The last entry of a page takes the page with it.
              setPage(1);
            }}
          />
        ) : null}
      </Section>
    </div>
  );
}

/** The method with a link to the transaction, or with its reference if no page shows it. */
function Transaction({ payment }: { payment: PaymentOnHold }) {
  const { t } = useTexts();
  const { paymentMethod: method, payment_details: details } = payment;
  const link = transactionLink(method, details);
  const { tx_hash: hash, payment_intent_id: intent } = Object.values(details)[0] ?? {};
  const reference = hash ?? intent;
  return (
    <Flex vertical align="flex-start">
      {method?.name ?? payment.payment_method_id}
      {link ? (
        <a href={link.url} target="_blank" rel="noopener noreferrer" title={link.label}>
          {t('heldPayments.transaction')}
          <span className="sr-only"> {t('a11y.newTab')}</span>
        </a>
      ) : null}
      {!link && reference ? (
        <Typography.Text code copyable ellipsis style={{ maxWidth: '13rem' }}>
          {reference}
        </Typography.Text>
      ) : null}
    </Flex>
  );
}
