import { FilePdfOutlined } from '@ant-design/icons';
import { Button, Card, Flex, Typography } from 'antd';
import type { ReactNode } from 'react';
import { callAddress } from '@/api/client';
import type { InvoiceDetail } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import { InvoiceDetails } from './invoice-details';
import { InvoiceLines } from './invoice-lines';
import type { InvoiceListProps } from './invoice-table';
import { reasonText } from './invoice-text';
import styles from './pages.module.css';
import { PaymentToast } from './payment-toast';
import { Refunds } from './refunds';
import { InvoiceTag } from './status';
import { useTexts } from './texts';

interface InvoiceDocumentProps extends Pick<InvoiceListProps, 'area'> {
  invoice: InvoiceDetail;
  /** What is unpaid, above the details. */
  notice?: ReactNode;
  /** More buttons beside those of the PDF. */
  actions?: ReactNode;
}

/** An invoice: number, status and total, details, lines, refunds, and the PDF in both languages. */
export function InvoiceDocument({ invoice, area, notice, actions }: InvoiceDocumentProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const money = (amount: string | undefined) => formatMoney(amount ?? '0', invoice.paymentCurrency, language);
  const total = money(invoice.total);
  return (
    <Card>
      <article className={styles.paper}>
        <PaymentToast customerId={invoice.customer_id} />
        <header>
          <div className={styles.head}>
            <div>
              <Typography.Title level={1}>
                {t('invoice.title', { number: invoice.number || t('invoice.draft.number') })}
              </Typography.Title>
              <Typography.Text type="secondary">{reasonText(invoice.billing_reason, texts)}</Typography.Text>
            </div>
            <InvoiceTag status={invoice.status} />
          </div>
          <p className={`${styles.total} money`}>{invoice.status === 'void' ? <s>{total}</s> : total}</p>
          {invoice.livemode ? null : <p className={styles.test}>{t('invoice.testMode')}</p>}
        </header>
        {notice}
        <InvoiceDetails invoice={invoice} area={area} />
        <InvoiceLines invoice={invoice} money={money} />
        <Refunds invoice={invoice} money={money} />
        <Flex wrap gap={12} component="footer">
          {(['en', 'zh'] as const).map((locale) => (
            <Button
              key={locale}
              icon={<FilePdfOutlined aria-hidden="true" />}
              href={callAddress(`/api/invoices/${encodeURIComponent(invoice.id)}/pdf`, { locale })}
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
