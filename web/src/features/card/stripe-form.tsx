import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { theme } from '@/lib/theme';
import type { CardContact } from './dialog';
import { type CardRefusal, type CardTarget, declineText } from './processor';
import { t } from './text';

const UNSEEN: StripeResult = { error: { type: 'sr-only' } };
const SCRIPT = 'https://js.stripe.com/v3/';

interface StripeResult {
  error?: CardRefusal & { type?: string };
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
  /** Where a bank that takes over the page leads back to. */
  returnUrl: string;
  /** Stripe is being asked, and must not be interrupted. */
  onAsking: (asking: boolean) => void;
  onAccepted: () => void;
}

/** Errors that Stripe gives before it charges; after any other one the outcome is not known. */
const REFUSALS = new Set([
  'card_error',
  'validation_error',
  'invalid_request_error',
  'authentication_error',
  'rate_limit_error',
]);

/** An intent that is not as it was may have been paid by the tap before. */
const isRefusal = ({ type = '', code }: CardRefusal & { type?: string }) =>
  REFUSALS.has(type) && !/_intent_unexpected_state$/.test(code ?? '');

/** Stripe's own Payment Element, for methods with a real key. */
export default function StripeForm(props: StripeFormProps) {
  const { action, target, contact, returnUrl, onAsking, onAccepted } = props;
  const locale = useLocale();
  const host = useRef<HTMLDivElement>(null);
  const parts = useRef<{ stripe: Stripe; elements: StripeElements }>(undefined);
  const [state, setState] = useState<'loading' | 'ready' | 'asking' | 'failed'>('loading');
  const [refusal, setRefusal] = useState<StripeResult['error']>();

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
    onAsking(true);
    setRefusal(undefined);
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
        return_url: returnUrl,
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
    const asked = target.kind === 'setup_intent' ? stripe.confirmSetup(options) : stripe.confirmPayment(options);
    const { error } = await asked.catch(() => UNSEEN);
    onAsking(false);
    // Without an answer it may have been charged: what the server sees decides.
    if (!error || !isRefusal(error)) return onAccepted();
    setRefusal(error);
    setState('ready');
  };

  if (state === 'failed') {
    return <Alert severity="danger" urgent title={t('stripeFailed')} />;
  }
  return (
    <form className="card-form" onSubmit={onSubmit} aria-label={t('title')}>
      {refusal && (
        <Alert severity="danger" urgent title={declineText(refusal)}>
          <p>{t(refusal.type === 'validation_error' ? 'notSent' : 'declinedHint')}</p>
        </Alert>
      )}
      {state === 'loading' && <p role="status">{t('stripeLoading')}</p>}
      <div ref={host} className="card-stripe" />
      <Button type="submit" variant="primary" wide loading={state === 'asking'} disabled={state === 'loading'}>
        {action}
      </Button>
    </form>
  );
}
