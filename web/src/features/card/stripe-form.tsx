import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { spoken } from '@/i18n/spoken';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { theme } from '@/lib/theme';
import type { CardContact } from './dialog';
import type { CardTarget } from './processor';
import { t } from './text';

const SCRIPT = 'https://js.stripe.com/v3/';

interface StripeResult {
  error?: { message?: string };
}
interface StripeElements {
  create: (type: 'payment', options?: object) => { mount: (host: HTMLElement) => void; destroy: () => void };
}
interface Stripe {
  elements: (options: object) => StripeElements;
  confirmPayment: (options: object) => Promise<StripeResult>;
  confirmSetup: (options: object) => Promise<StripeResult>;
}
declare global {
  interface Window {
    Stripe?: (key: string, options?: object) => Stripe;
  }
}

/** Stripe wants its script from its own address; nothing of it is loaded before a card is asked for. */
function loadScript(): Promise<void> {
  if (window.Stripe) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = SCRIPT;
    script.onload = () => resolve();
    script.onerror = () => {
      script.remove();
      reject(new Error('Stripe.js'));
    };
    document.head.append(script);
  });
}

interface StripeFormProps {
  /** What the button says. */
  action: string;
  target: CardTarget;
  contact: CardContact;
  onAccepted: () => void;
}

/** Stripe's own Payment Element, for methods with a real key. */
export default function StripeForm({ action, target, contact, onAccepted }: StripeFormProps) {
  const locale = useLocale();
  const host = useRef<HTMLDivElement>(null);
  const parts = useRef<{ stripe: Stripe; elements: StripeElements }>(undefined);
  const [state, setState] = useState<'loading' | 'ready' | 'asking' | 'failed'>('loading');
  const [refusal, setRefusal] = useState('');

  useEffect(() => {
    let element: { destroy: () => void } | undefined;
    let gone = false;
    loadScript().then(
      () => {
        if (gone || !host.current || !window.Stripe) return;
        const stripe = window.Stripe(target.key, { locale });
        const appearance = { theme: theme() === 'dark' ? 'night' : 'stripe' };
        const elements = stripe.elements({ clientSecret: target.clientSecret, appearance });
        const payment = elements.create('payment', { fields: { billingDetails: 'never' } });
        payment.mount(host.current);
        element = payment;
        parts.current = { stripe, elements };
        setState('ready');
      },
      () => setState('failed'),
    );
    return () => {
      gone = true;
      element?.destroy();
    };
  }, [target.key, target.clientSecret, locale]);

  const onSubmit = async (event: FormEvent) => {
    event.preventDefault();
    if (!parts.current || state !== 'ready') return;
    const { stripe, elements } = parts.current;
    setState('asking');
    const address = {
      country: contact.country.toUpperCase(),
      postal_code: contact.postalCode || '00000',
      state: contact.state ?? '',
      city: contact.city ?? '',
      line1: contact.line1 ?? '',
      line2: contact.line2 ?? '',
    };
    const options = {
      elements,
      redirect: 'if_required',
      confirmParams: {
        return_url: window.location.href,
        payment_method_data: {
          billing_details: {
            name: contact.name,
            email: contact.email,
            phone: contact.phone ?? '',
            address,
          },
        },
      },
    };
    const { error } = await (target.kind === 'setup_intent'
      ? stripe.confirmSetup(options)
      : stripe.confirmPayment(options));
    if (!error) return onAccepted();
    setRefusal(error.message ? spoken(error.message) : t('code.card_declined'));
    setState('ready');
  };

  if (state === 'failed') {
    return <Alert tone="danger" urgent title={t('stripeFailed')} />;
  }
  return (
    <form className="card-form" onSubmit={onSubmit} aria-label={t('title')}>
      {refusal && (
        <Alert tone="danger" urgent title={t('declined', { message: refusal })}>
          <p>{t('declinedHint')}</p>
        </Alert>
      )}
      {state === 'loading' && <p role="status">{t('stripeLoading')}</p>}
      <div ref={host} className="card-stripe" />
      <Button type="submit" look="primary" wide busy={state === 'asking'} disabled={state === 'loading'}>
        {action}
      </Button>
    </form>
  );
}
