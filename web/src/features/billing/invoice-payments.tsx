import { Flex, Table, Typography } from 'antd';
import type { InvoiceDetail, InvoicePayment } from '@/api/types';
import { toUnits } from '@/lib/amount';
import { transactionLink } from '@/lib/explorer';
import { dateTimeText } from '@/lib/format';
import { refundTexts, sourceText } from './invoice-text';
import styles from './pages.module.css';
import { Section } from './states';
import { useTexts } from './texts';

interface PaymentsProps {
  invoice: InvoiceDetail;
  money: (amount: string | undefined) => string;
}

/** The payments of an invoice, with their refunded, disputed and reversed amounts. */
export function InvoicePayments({ invoice, money }: PaymentsProps) {
  const { t } = useTexts();
  const payments = invoice.payments ?? [];
  if (payments.length === 0) return null;
  return (
    <Section id="invoice-payments" title={t('invoice.payments')}>
      <Table<InvoicePayment>
        aria-label={t('invoice.payments')}
        rowKey="id"
        showHeader={false}
        pagination={false}
        dataSource={payments}
        columns={[
          { key: 'source', render: (_, payment) => <Payment payment={payment} invoice={invoice} money={money} /> },
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

const CHANGES = ['disputed', 'reversed'] as const;

function Payment({ payment, invoice, money }: { payment: InvoicePayment } & PaymentsProps) {
  const { t, language } = useTexts();
  const link = payment.paymentMethod ? transactionLink(payment.paymentMethod, payment.payment_details) : null;
  const changes = CHANGES.filter((change) => toUnits(payment[change]) > 0n).map((change) =>
    t(`payment.${change}`, { amount: money(payment[change]) }),
  );
  return (
    <Flex vertical className={styles.entry}>
      {sourceText(payment, { t })}
      <Flex gap={12} wrap>
        <Typography.Text type="secondary">
          <time dateTime={payment.created_at}>{dateTimeText(payment.created_at, language)}</time>
        </Typography.Text>
        {link ? (
          <a href={link.url} target="_blank" rel="noopener noreferrer">
            {t('portal.payment.transaction')}
            <span className="sr-only"> {t('a11y.newTab')}</span>
          </a>
        ) : null}
      </Flex>
      {[...refundTexts(payment.refunded, invoice, { t }, money), ...changes].map((text) => (
        <Typography.Text key={text} type="secondary" className="figures">
          {text}
        </Typography.Text>
      ))}
    </Flex>
  );
}
