import { App } from 'antd';
import { useTexts } from './texts';
import { usePaidInvoices } from './use-paid-invoices';

const DURATION_S = 6;

/** Shows a message when an invoice of this customer is paid, on any device, and reloads the data of the page. */
export function PaymentToast({ customerId }: { customerId: string | undefined }) {
  const { t } = useTexts();
  const { message } = App.useApp();
  usePaidInvoices(customerId, () => {
    void message.success({ key: 'paid', content: t('pay.done'), duration: DURATION_S, className: 'payment-toast' });
  });
  return null;
}
