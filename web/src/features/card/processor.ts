import en from '@/i18n/en/card.json';
import { unknownMessage } from '@/i18n/translate';
import { type Key, t } from './text';

/** The subset of Stripe's client API that browsers use, for the sandbox's card processor. */

/** The fields of a payment intent or setup intent that the browser reads. */
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
  last_payment_error?: CardError | null;
  last_setup_error?: CardError | null;
}

export interface CardError {
  code?: string;
  decline_code?: string;
  message?: string;
}

/** The translated text of a bank's code, else the bank's message. */
export function declineText({ code, decline_code, message }: CardError): string {
  for (const known of [decline_code, code]) {
    const key = `code.${known}`;
    if (known && key in en) return t(key as Key);
  }
  return message ? unknownMessage(message) : t('code.card_declined');
}

export interface CardDetails {
  number: string;
  expMonth: string;
  expYear: string;
  cvc: string;
  name: string;
  /** Left out if unknown, like the next two. */
  email?: string;
  postalCode?: string;
  country?: string;
}

export type CardOutcome =
  | { name: 'accepted' }
  | { name: 'challenge' }
  | { name: 'declined'; error: CardError }
  /** The sandbox of the store is off: the card was not charged, and won't be. */
  | { name: 'sandboxOff' }
  /** No response. The payment may have succeeded: check its status, never ask for the card again. */
  | { name: 'unknown' };

export interface CardTarget {
  host: string;
  key: string;
  clientSecret: string;
  /** A setup intent saves the card without a charge. */
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
      return { name: 'declined', error: intent.last_payment_error ?? intent.last_setup_error ?? {} };
  }
}

async function call(target: CardTarget, step: string, form: Record<string, string>): Promise<CardOutcome> {
  const url = `${target.host.replace(/\/$/, '')}/v1/${target.kind}s/${intentId(target.clientSecret)}/${step}`;
  let response: Response;
  let body: CardIntent & { error?: CardError; code?: string };
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${target.key}`, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...form, client_secret: target.clientSecret }),
      credentials: 'omit',
    });
    body = await response.json();
  } catch {
    return { name: 'unknown' };
  }
  if (response.status === 503 && body.code === 'SANDBOX_OFF') return { name: 'sandboxOff' };
  if (response.status >= 500) return { name: 'unknown' };
  if (!response.ok) return { name: 'declined', error: body.error ?? {} };
  return outcomeOf(body);
}

export function confirmCard(target: CardTarget, card: CardDetails): Promise<CardOutcome> {
  const data = 'payment_method_data';
  const billing = `${data}[billing_details]`;
  const fields = {
    [`${data}[type]`]: 'card',
    [`${data}[card][number]`]: card.number,
    [`${data}[card][exp_month]`]: card.expMonth,
    [`${data}[card][exp_year]`]: card.expYear,
    [`${data}[card][cvc]`]: card.cvc,
    [`${billing}[name]`]: card.name,
    [`${billing}[email]`]: card.email ?? '',
    [`${billing}[address][postal_code]`]: card.postalCode ?? '',
    [`${billing}[address][country]`]: card.country?.toUpperCase() ?? '',
  };
  return call(target, 'confirm', Object.fromEntries(Object.entries(fields).filter(([, value]) => value)));
}

/** Completes or fails the challenge, like the bank's page would. */
export const authenticate = (target: CardTarget, success: boolean) =>
  call(target, 'authenticate', { success: String(success) });
