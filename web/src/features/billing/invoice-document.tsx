import { FilePdfOutlined } from '@ant-design/icons';
import { Button, Card, Flex, Typography } from 'antd';
import type { ReactNode } from 'react';
import { apiUrl } from '@/api/client';
import type { InvoiceDetail } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import { CreditNotes } from './credit-notes';
import { InvoiceDetails } from './invoice-details';
import { InvoiceLines } from './invoice-lines';
import { InvoicePayments } from './invoice-payments';
import type { InvoiceListProps } from './invoice-table';
import { reasonText } from './invoice-text';
import styles from './pages.module.css';
import { PaymentToast } from './payment-toast';
import { Refunds, type RefundsProps } from './refunds';
import { InvoiceTags } from './status';
import { useTexts } from './texts';

interface InvoiceDocumentProps extends Pick<InvoiceListProps, 'area'>, Pick<RefundsProps, 'refundAction'> {
  invoice: InvoiceDetail;
  /** The unpaid amount, above the details. */
  notice?: ReactNode;
  /** Content for administrators, below the refunds. */
  more?: ReactNode;
  /** More buttons beside those of the PDF. */
  actions?: ReactNode;
}

/** An invoice: number, status and total, details, lines, payments, credit notes, refunds, and the PDF in both languages. */
export function InvoiceDocument({ invoice, area, notice, more, actions, refundAction }: InvoiceDocumentProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const money = (amount: string | undefined) => formatMoney(amount ?? '0', invoice.paymentCurrency, language);
  const total = money(invoice.total);
  const number = invoice.number || t('invoice.draft.number');
  const title = t('invoice.title', { number });
  return (
    <Card>
      <article className={styles.document}>
        <PaymentToast customerId={invoice.customer_id} />
        <header>
          <div className={styles.head}>
            <div>
              <Typography.Title level={1}>
                {/* The number does not break at its hyphens. */}
                {title.slice(0, -number.length)}
                <span style={{ whiteSpace: 'nowrap' }}>{number}</span>
              </Typography.Title>
              <Typography.Text type="secondary">{reasonText(invoice.billing_reason, texts)}</Typography.Text>
            </div>
            <InvoiceTags invoice={invoice} />
          </div>
          <p className={`${styles.total} money`}>{invoice.status === 'void' ? <s>{total}</s> : total}</p>
          {invoice.livemode ? null : <p className={styles.test}>{t('invoice.testMode')}</p>}
        </header>
        {notice}
        <InvoiceDetails invoice={invoice} area={area} />
        <InvoiceLines invoice={invoice} money={money} />
        <InvoicePayments invoice={invoice} money={money} />
        <CreditNotes invoice={invoice} money={money} />
        <Refunds invoice={invoice} money={money} refundAction={refundAction} />
        {more}
        <Flex wrap gap={12} component="footer">
          {(['en', 'zh'] as const).map((locale) => (
            <Button
              key={locale}
              icon={<FilePdfOutlined aria-hidden="true" />}
              href={apiUrl(`/api/invoices/${encodeURIComponent(invoice.id)}/pdf`, { locale })}
              download
            >
              {t(`invoice.pdf.${locale}`)}
            </Button>
          ))}
          {actions}
        </Flex>
      </article>
    </Card>
  );
}
