import { useState } from 'react';
import { api } from '@/api/client';
import type { Invoice, Overdue } from '@/api/types';
import { type ConnectOptions, openConnect } from '@/features/connect';
import { announce } from '@/kit/announce';
import { Button } from '@/kit/button';
import { invoiceAmount } from './invoice-text';
import { PayByCard } from './pay-by-card';
import { refreshAfterPayment } from './refresh';
import { useTexts } from './texts';

/** Whether a wallet pays this; else a card form does. */
export const isPaidByWallet = (method: Pick<Invoice, 'paymentMethod'>['paymentMethod']) => method?.type !== 'stripe';

export type CollectAction = 'pay' | 'renew';

interface PayInvoiceProps {
  invoice: Invoice;
  action?: CollectAction;
  /** Alone on its page, with the amount. */
  prominent?: boolean;
}

/** Opens the wallet for one unpaid invoice; where it is a card's, the card form. */
export function PayInvoice({ invoice, action = 'pay', prominent = false }: PayInvoiceProps) {
  const texts = useTexts();
  const { t } = texts;
  const [busy, setBusy] = useState(false);
  const number = invoice.number || invoice.id;
  if (!isPaidByWallet(invoice.paymentMethod)) {
    const isPaid = async () => {
      const { status } = await api.get<Invoice>(`/api/invoices/${encodeURIComponent(invoice.id)}`);
      return status === 'paid';
    };
    return (
      <PayByCard
        debt={{ invoice_ids: [invoice.id], currency_id: invoice.currency_id }}
        text={prominent ? t('pay.amountByCard', { amount: invoiceAmount(invoice, texts) }) : t('pay.byCard')}
        name={prominent ? undefined : t('pay.byCardOf', { number })}
        look={prominent ? 'primary' : 'secondary'}
        isPaid={isPaid}
      />
    );
  }
  const pay = () => {
    setBusy(true);
    openConnect({
      action: 'collect',
      title: t('pay.invoice', { number }),
      failedTitle: t(`pay.failed.${action}`),
      extraParams: { invoiceId: invoice.id, action },
      onSuccess: () => {
        announce(t('pay.done'));
        void refreshAfterPayment().finally(() => setBusy(false));
      },
      onClose: () => setBusy(false),
    });
  };
  return (
    <Button
      look={prominent ? 'primary' : 'secondary'}
      busy={busy}
      onClick={pay}
      aria-label={prominent ? undefined : t('pay.invoice', { number })}
    >
      {prominent ? t('pay.amount', { amount: invoiceAmount(invoice, texts) }) : t('pay')}
    </Button>
  );
}

export type Debt = Overdue['summary'][string];

/** Whose debts a payment covers. */
export type Debtor = { subscriptionId: string } | { customerId: string };

/** Opens the wallet for all unpaid invoices of one currency. */
export function collectBatch(
  title: string,
  currencyId: string,
  debtor: Debtor,
  ends: Pick<ConnectOptions, 'onSuccess' | 'onError' | 'onClose'>,
): void {
  openConnect({ action: 'collect-batch', title, extraParams: { currencyId, ...debtor }, ...ends });
}
