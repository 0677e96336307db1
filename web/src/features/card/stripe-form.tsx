import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useLocale } from '@/i18n/light';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { theme } from '@/lib/theme';
import { billingDetailsFor } from './billing-details';
import type { CardContact } from './dialog';
import { type CardError, type CardTarget, declineText } from './processor';
import { t } from './text';

const NO_RESPONSE: StripeResult = { error: { type: 'no_response' } };
const SCRIPT = 'https://js.stripe.com/v3/';

interface StripeResult {
  error?: CardError & { type?: string };
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

/** Stripe requires loading its script from its own host. It is loaded only when a card form opens. */
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
  /** The label of the submit button. */
  action: string;
  target: CardTarget;
  contact: CardContact;
  /** Return URL of a redirect to the bank. */
  returnUrl: string;
  /** True while Stripe confirms; the dialog must stay open. */
  onConfirming: (isConfirming: boolean) => void;
  onAccepted: () => void;
}

/** Errors before a charge. After any other error the outcome is unknown. */
const DECLINES = new Set([
  'card_error',
  'validation_error',
  'invalid_request_error',
  'authentication_error',
  'rate_limit_error',
]);

/** An intent in an unexpected state may have been paid by an earlier click. */
const isDecline = ({ type = '', code }: CardError & { type?: string }) =>
  DECLINES.has(type) && !/_intent_unexpected_state$/.test(code ?? '');

/** Stripe's own Payment Element, for methods with a real key. */
export default function StripeForm(props: StripeFormProps) {
  const { action, target, contact, returnUrl, onConfirming, onAccepted } = props;
  const locale = useLocale();
  // A form that is open keeps the fields that it was created with.
  const [billing] = useState(() => billingDetailsFor(contact));
  const host = useRef<HTMLDivElement>(null);
  const instances = useRef<{ stripe: Stripe; elements: StripeElements }>(undefined);
  const [state, setState] = useState<'loading' | 'ready' | 'confirming' | 'failed'>('loading');
  const [decline, setDecline] = useState<StripeResult['error']>();

  useEffect(() => {
    let element: { destroy: () => void } | undefined;
    let unmounted = false;
    loadScript().then(
      () => {
        if (unmounted || !host.current || !window.Stripe) return;
        const stripe = window.Stripe(target.key, { locale });
        const appearance = { theme: theme() === 'dark' ? 'night' : 'stripe' };
        const elements = stripe.elements({ clientSecret: target.clientSecret, appearance });
        const payment = elements.create('payment', {
          defaultValues: { billingDetails: billing.defaults },
          fields: { billingDetails: billing.fields },
        });
        payment.mount(host.current);
        element = payment;
        instances.current = { stripe, elements };
        setState('ready');
      },
      () => setState('failed'),
    );
    return () => {
      unmounted = true;
      element?.destroy();
    };
  }, [target.key, target.clientSecret, locale, billing]);

  const onSubmit = async (event: FormEvent) => {
    event.preventDefault();
    if (!instances.current || state !== 'ready') return;
    const { stripe, elements } = instances.current;
    setState('confirming');
    onConfirming(true);
    setDecline(undefined);
    const options = {
      elements,
      redirect: 'if_required',
      confirmParams: {
        return_url: returnUrl,
        payment_method_data: { billing_details: billing.sent },
      },
    };
    const result = target.kind === 'setup_intent' ? stripe.confirmSetup(options) : stripe.confirmPayment(options);
    const { error } = await result.catch(() => NO_RESPONSE);
    onConfirming(false);
    // Without a response the card may have been charged: the server's status decides.
    if (!error || !isDecline(error)) return onAccepted();
    setDecline(error);
    setState('ready');
  };

  if (state === 'failed') {
    return <Alert severity="danger" urgent title={t('stripeFailed')} />;
  }
  return (
    <form className="card-form" onSubmit={onSubmit} aria-label={t('title')}>
      {decline && (
        <Alert severity="danger" urgent title={declineText(decline)}>
          <p>{t(decline.type === 'validation_error' ? 'notSent' : 'declinedHint')}</p>
        </Alert>
      )}
      {state === 'loading' && <p role="status">{t('stripeLoading')}</p>}
      <div ref={host} className="card-stripe" />
      <Button type="submit" variant="primary" wide loading={state === 'confirming'} disabled={state === 'loading'}>
        {action}
      </Button>
    </form>
  );
}
