import en from '@/i18n/en/card.json';
import { translate } from '@/i18n/translate';
import { type Key, t } from './text';

/** The part of Stripe's public client API that a browser speaks, against the sandbox's card processor. */

/** A payment intent or a setup intent, as far as a browser looks at it. */
export interface CardIntent {
  id: string;
  status:
    | 'succeeded'
    | 'processing'
    | 'requires_action'
    | 'requires_payment_method'
    | 'requires_confirmation'
    | 'canceled';
  next_action?: { type: string; challenge_url?: string } | null;
  last_payment_error?: CardRefusal | null;
  last_setup_error?: CardRefusal | null;
}

export interface CardRefusal {
  code?: string;
  decline_code?: string;
  message?: string;
}

/** A bank's code in the language of the page, else its own sentence. */
export function declineText({ code, decline_code, message }: CardRefusal): string {
  for (const known of [decline_code, code]) {
    const key = `code.${known}`;
    if (known && key in en) return t(key as Key);
  }
  return message ? translate(message) : t('code.card_declined');
}

export interface CardEntry {
  number: string;
  expMonth: string;
  expYear: string;
  cvc: string;
  name: string;
  email: string;
  postalCode: string;
  country: string;
}

export type CardOutcome =
  | { name: 'accepted' }
  | { name: 'challenge' }
  | { name: 'refused'; refusal: CardRefusal }
  /** No answer was seen. The money may have moved: watch, never ask for the card again. */
  | { name: 'unknown' };

export interface CardTarget {
  host: string;
  key: string;
  clientSecret: string;
  /** A setup intent keeps the card and charges nothing. */
  kind: 'payment_intent' | 'setup_intent';
}

/** A client secret is `{intent id}_secret_{random}`. */
export const intentId = (clientSecret: string) => clientSecret.split('_secret_')[0] ?? clientSecret;

const SANDBOX_KEY = 'pk_sandbox_';
export const isSandboxKey = (key: string) => key.startsWith(SANDBOX_KEY);

function outcomeOf(intent: CardIntent): CardOutcome {
  switch (intent.status) {
    case 'succeeded':
    case 'processing':
      return { name: 'accepted' };
    case 'requires_action':
      return { name: 'challenge' };
    default:
      return { name: 'refused', refusal: intent.last_payment_error ?? intent.last_setup_error ?? {} };
  }
}

async function call(target: CardTarget, step: string, form: Record<string, string>): Promise<CardOutcome> {
  const address = `${target.host.replace(/\/$/, '')}/v1/${target.kind}s/${intentId(target.clientSecret)}/${step}`;
  let answer: Response;
  let body: CardIntent & { error?: CardRefusal };
  try {
    answer = await fetch(address, {
      method: 'POST',
      headers: { Authorization: `Bearer ${target.key}`, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...form, client_secret: target.clientSecret }),
      credentials: 'omit',
    });
    body = await answer.json();
  } catch {
    return { name: 'unknown' };
  }
  if (answer.status >= 500) return { name: 'unknown' };
  if (!answer.ok) return { name: 'refused', refusal: body.error ?? {} };
  return outcomeOf(body);
}

export function confirmCard(target: CardTarget, card: CardEntry): Promise<CardOutcome> {
  const data = 'payment_method_data';
  return call(target, 'confirm', {
    [`${data}[type]`]: 'card',
    [`${data}[card][number]`]: card.number,
    [`${data}[card][exp_month]`]: card.expMonth,
    [`${data}[card][exp_year]`]: card.expYear,
    [`${data}[card][cvc]`]: card.cvc,
    [`${data}[billing_details][name]`]: card.name,
    [`${data}[billing_details][email]`]: card.email,
    [`${data}[billing_details][address][postal_code]`]: card.postalCode || '00000',
    [`${data}[billing_details][address][country]`]: card.country.toUpperCase(),
  });
}

/** The second step, as the bank's page would end it. */
export const authenticate = (target: CardTarget, success: boolean) =>
  call(target, 'authenticate', { success: String(success) });
