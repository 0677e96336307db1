import { Button } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import type { Invoice, Overdue } from '@/api/types';
import { isPayable, remainingAmount } from '@/features/billing/invoice-text';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { useTexts } from '@/features/billing/texts';
import { openConnect } from '@/features/connect';
import { announce } from '@/kit/announce';
import { PayByCard } from './pay-by-card';

/** Whether a wallet pays it; otherwise a card does. */
export const isPaidByWallet = (method: Pick<Invoice, 'paymentMethod'>['paymentMethod']) => method?.type !== 'stripe';

export type CollectAction = 'pay' | 'renew';

interface PayInvoiceProps {
  invoice: Invoice;
  action?: CollectAction;
  /** The main button of its page, with the amount. */
  prominent?: boolean;
}

/** Opens the wallet for one unpaid invoice, or the card form if a card pays it. */
export function PayInvoice({ invoice, action = 'pay', prominent = false }: PayInvoiceProps) {
  const texts = useTexts();
  const { t } = texts;
  const [isPaying, setIsPaying] = useState(false);
  const number = invoice.number || invoice.id;
  const type = prominent ? 'primary' : 'default';
  if (!isPaidByWallet(invoice.paymentMethod)) {
    const isPaid = async () => {
      const { status } = await api.get<Invoice>(`/api/invoices/${encodeURIComponent(invoice.id)}`);
      return status === 'paid';
    };
    return (
      <PayByCard
        target={{ invoice_ids: [invoice.id], currency_id: invoice.currency_id }}
        text={prominent ? t('pay.amountByCard', { amount: remainingAmount(invoice, texts) }) : t('pay.byCard')}
        name={prominent ? undefined : t('pay.byCardOf', { number })}
        type={type}
        isPaid={isPaid}
      />
    );
  }
  const pay = () => {
    setIsPaying(true);
    openConnect({
      action: 'collect',
      title: t('pay.invoice', { number }),
      failedTitle: t(`pay.failed.${action}`),
      extraParams: { invoiceId: invoice.id, action },
      onSuccess: () => {
        announce(t('pay.done'));
        void refreshAfterPayment().finally(() => setIsPaying(false));
      },
      onClose: () => setIsPaying(false),
    });
  };
  return (
    <Button
      type={type}
      loading={isPaying}
      onClick={pay}
      aria-label={prominent ? undefined : t('pay.invoice', { number })}
    >
      {prominent ? t('pay.amount', { amount: remainingAmount(invoice, texts) }) : t('pay')}
    </Button>
  );
}

/** The button of an unpaid invoice in a list of the customer's invoices. */
export const payAction = (invoice: Invoice) => (isPayable(invoice) ? <PayInvoice invoice={invoice} /> : null);

export type OverdueBalance = Overdue['summary'][string];

/** Whose overdue invoices a payment covers. */
export type Payer = { subscriptionId: string } | { customerId: string };
