import { useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { api } from '@/api/client';
import type { Invoice } from '@/api/types';
import { spokenError } from '@/i18n/spoken';
import { announce } from '@/kit/announce';
import { Button } from '@/kit/button';
import { Failure } from './dialog-parts';
import { invoiceAmount } from './invoice-text';
import { refreshBilling } from './refresh';
import { useTexts } from './texts';

const CardDialog = lazy(() => import('@/features/card/dialog'));

/** How often, and how many times, the store is asked whether the card has paid. */
const POLL_MS = 2000;
const POLLS = 15;

interface CardDebtForm {
  client_secret: string;
  publishable_key: string;
  api_host: string;
  customer: {
    name: string;
    email: string;
    address?: { country?: string | null; postal_code?: string | null } | null;
  };
}

interface PayByCardProps {
  invoice: Invoice;
  /** Alone on its page, with the amount. */
  prominent: boolean;
}

/** Pays one unpaid invoice with a card that is given now; its subscription may have ended. */
export function PayByCard({ invoice, prominent }: PayByCardProps) {
  const texts = useTexts();
  const { t } = texts;
  const [form, setForm] = useState<CardDebtForm | null>(null);
  const open = useMutation({
    mutationFn: () =>
      api.post<CardDebtForm>('/api/invoices/pay-stripe', {
        invoice_ids: [invoice.id],
        currency_id: invoice.currency_id,
      }),
    onSuccess: setForm,
  });
  // The card is saved first, and charged by the store a moment later.
  const charge = useMutation({
    mutationFn: () => untilPaid(invoice.id),
    onSuccess: async (paid) => {
      if (paid) announce(t('pay.done'));
      await refreshBilling();
    },
  });
  const failure = open.error ? spokenError(open.error) : charge.data === false ? t('pay.notCharged') : null;
  return (
    <>
      <Button
        look={prominent ? 'primary' : 'secondary'}
        busy={open.isPending || charge.isPending}
        onClick={() => {
          charge.reset();
          open.mutate();
        }}
        aria-label={prominent ? undefined : t('pay.byCardOf', { number: invoice.number ?? invoice.id })}
      >
        {prominent ? t('pay.amountByCard', { amount: invoiceAmount(invoice, texts) }) : t('pay.byCard')}
      </Button>
      {failure ? <Failure title={t('pay.notByCard')} text={failure} /> : null}
      {form ? (
        <Suspense fallback={null}>
          <CardDialog
            settings={{ publishable_key: form.publishable_key, api_host: form.api_host || undefined }}
            context={{
              client_secret: form.client_secret,
              intent_type: 'setup_intent',
              status: 'requires_payment_method',
            }}
            contact={{
              name: form.customer.name,
              email: form.customer.email,
              country: form.customer.address?.country ?? 'us',
              postalCode: form.customer.address?.postal_code ?? '',
            }}
            onAccepted={() => {
              setForm(null);
              charge.mutate();
            }}
            onClose={() => setForm(null)}
          />
        </Suspense>
      ) : null}
    </>
  );
}

/** Whether the invoice was paid within half a minute. */
async function untilPaid(id: string): Promise<boolean> {
  for (let poll = 0; poll < POLLS; poll += 1) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const { status } = await api.get<Invoice>(`/api/invoices/${encodeURIComponent(id)}`);
    if (status === 'paid') return true;
  }
  return false;
}
