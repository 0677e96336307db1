import { Typography } from 'antd';
import type { Invoice } from '@/api/types';
import { invoiceAmount, isPartlySettled, remainingAmount } from './invoice-text';
import { useTexts } from './texts';

/** The invoice's total in a list, and the remaining amount if it is partly paid or credited. */
export function InvoiceAmount({ invoice }: { invoice: Invoice }) {
  const texts = useTexts();
  const amount = invoiceAmount(invoice, texts);
  if (invoice.status === 'void') return <s>{amount}</s>;
  if (!isPartlySettled(invoice)) return amount;
  return (
    <>
      {amount}
      <br />
      <Typography.Text type="secondary">
        {texts.t('invoice.remaining', { amount: remainingAmount(invoice, texts) })}
      </Typography.Text>
    </>
  );
}
