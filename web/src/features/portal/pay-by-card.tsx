import { useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { api } from '@/api/client';
import { spokenError } from '@/i18n/spoken';
import { announce } from '@/kit/announce';
import { Button } from '@/kit/button';
import { Failure } from './dialog-parts';
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

/** Which unpaid invoices of a currency: these, or all of a subscription. */
type CardDebt = ({ invoice_ids: string[] } | { subscription_id: string }) & { currency_id?: string };

interface PayByCardProps {
  debt: CardDebt;
  /** What the button says, and what it is called where that is not enough. */
  text: string;
  name?: string;
  look: 'primary' | 'secondary';
  /** Asks the store whether the debt is gone. */
  isPaid: () => Promise<boolean>;
  /** It is. */
  onPaid?: () => void;
}

/** Pays what is owed with a card that is given now; its subscription may have ended. */
export function PayByCard({ debt, text, name, look, isPaid, onPaid }: PayByCardProps) {
  const { t } = useTexts();
  const [form, setForm] = useState<CardDebtForm | null>(null);
  const open = useMutation({
    mutationFn: () => api.post<CardDebtForm>('/api/invoices/pay-stripe', debt),
    onSuccess: setForm,
  });
  // The card is saved first, and charged by the store a moment later.
  const charge = useMutation({
    mutationFn: () => untilPaid(isPaid),
    onSuccess: async (paid) => {
      if (paid) announce(t('pay.done'));
      await refreshBilling();
      if (paid) onPaid?.();
    },
  });
  const failure = open.error ? spokenError(open.error) : charge.data === false ? t('pay.notCharged') : null;
  return (
    <>
      <Button
        look={look}
        busy={open.isPending || charge.isPending}
        onClick={() => {
          charge.reset();
          open.mutate();
        }}
        aria-label={name}
      >
        {text}
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

/** Whether it was paid within half a minute. A look that gets no answer tells nothing: the next one does. */
async function untilPaid(isPaid: () => Promise<boolean>): Promise<boolean> {
  for (let poll = 0; poll < POLLS; poll += 1) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (await isPaid().catch(() => false)) return true;
  }
  return false;
}
