import { useMutation } from '@tanstack/react-query';
import { Button, type ButtonProps, Flex } from 'antd';
import { lazy, Suspense, useState } from 'react';
import { api } from '@/api/client';
import { ErrorAlert } from '@/features/billing/dialog';
import { refreshBilling } from '@/features/billing/refresh';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';

const CardDialog = lazy(() => import('@/features/card/dialog'));

/** The poll interval and the number of polls for the charge. */
const POLL_MS = 2000;
const POLLS = 15;

interface CardForm {
  client_secret: string;
  publishable_key: string;
  api_host: string;
  customer: {
    name: string;
    email: string;
    address?: { country?: string | null; postal_code?: string | null } | null;
  };
}

/** The unpaid invoices of a currency: some, or all of a subscription. */
type CardTarget = ({ invoice_ids: string[] } | { subscription_id: string }) & { currency_id?: string };

interface PayByCardProps {
  target: CardTarget;
  /** The label of the button, and its accessible name where the label is not enough. */
  text: string;
  name?: string;
  type?: ButtonProps['type'];
  /** Checks whether the invoices are paid. */
  isPaid: () => Promise<boolean>;
  /** Called when the card form opens or closes. */
  onForm?: (open: boolean) => void;
}

/** Pays overdue invoices with a new card. Their subscription may have ended. */
export function PayByCard({ target, text, name, type, isPaid, onForm }: PayByCardProps) {
  const { t } = useTexts();
  const [form, setForm] = useState<CardForm | null>(null);
  const updateForm = (next: CardForm | null) => {
    setForm(next);
    onForm?.(next !== null);
  };
  const open = useMutation({
    mutationFn: () => api.post<CardForm>('/api/invoices/pay-stripe', target),
    onSuccess: updateForm,
  });
  // The processor saves the card first; the store charges it a moment later.
  const charge = useMutation({
    mutationFn: () => pollPaid(isPaid),
    onSuccess: async (paid) => {
      if (paid) announce(t('pay.done'));
      await refreshBilling();
    },
  });
  const failure = open.error ? translateError(open.error) : charge.data === false ? t('pay.notCharged') : null;
  return (
    <Flex vertical gap={8} align="start">
      <Button
        type={type}
        loading={open.isPending || charge.isPending}
        onClick={() => {
          charge.reset();
          open.mutate();
        }}
        aria-label={name}
      >
        {text}
      </Button>
      {failure ? <ErrorAlert title={t('pay.notByCard')} text={failure} /> : null}
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
              country: form.customer.address?.country,
              postalCode: form.customer.address?.postal_code,
            }}
            onAccepted={() => {
              updateForm(null);
              charge.mutate();
            }}
            onClose={() => updateForm(null)}
          />
        </Suspense>
      ) : null}
    </Flex>
  );
}

/** Polls for half a minute. A failed request is retried. */
async function pollPaid(isPaid: () => Promise<boolean>): Promise<boolean> {
  for (let poll = 0; poll < POLLS; poll += 1) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (await isPaid().catch(() => false)) return true;
  }
  return false;
}
