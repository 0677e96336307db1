import type { Invoice, InvoiceSubscription, PaymentMethod, Span } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import { dayText } from '@/lib/format';
import type { Key, Texts as PortalTexts } from './texts';

type Texts = Pick<PortalTexts, 't' | 'language'>;

const REASONS = [
  'subscription_create',
  'subscription_cycle',
  'subscription_update',
  'subscription_recover',
  'subscription_threshold',
  'subscription_cancel',
  'subscription',
  'manual',
  'upcoming',
  'slash_stake',
  'stake',
  'return_stake',
  'recharge',
  'stake_overdraft_protection',
  'overdraft_protection',
] as const;

/** The billing reason as text; an unknown one stays as the server sent it. */
export function reasonText(reason: string, { t }: Texts): string {
  const known = REASONS.find((each) => each === reason);
  return known ? t(`reason.${known}`) : reason;
}

/** The keys of the descriptions that the payment kit writes in English. */
const KNOWN: Record<string, Key> = {
  'Subscription staking': 'known.stake',
  'Stake for subscription': 'known.stake',
  'Stake for subscription plan change': 'known.stakeForPlan',
  'Stake for subscription payment change': 'known.stakeForPayment',
  'Return Subscription staking': 'known.returnStake',
  'Recharge for subscription': 'known.recharge',
  'Add funds for subscription': 'known.recharge',
  'Overdraft protection': 'reason.overdraft_protection',
  'Stake for subscription overdraft protection': 'reason.stake_overdraft_protection',
  'Re-stake to resume subscription': 'known.reStake',
  Gas: 'known.gas',
  Fee: 'known.fee',
};

/** Translates the payment kit's own descriptions; an invoice without a description is named by its id. */
export function descriptionText(invoice: Pick<Invoice, 'description' | 'billing_reason' | 'id'>, texts: Texts): string {
  const { description, billing_reason: reason, id } = invoice;
  if (!description) return id;
  const known = KNOWN[description];
  if (known) return texts.t(known);
  return /^(Subscription |Slash stake)/.test(description) ? reasonText(reason, texts) : description;
}

/** Whether its customer can pay this invoice from here. */
export const isPayable = ({ status, billing_reason: reason }: Pick<Invoice, 'status' | 'billing_reason'>) =>
  status === 'uncollectible' && reason !== 'overdraft_protection';

export function invoiceAmount(invoice: Pick<Invoice, 'total' | 'paymentCurrency'>, { language }: Texts): string {
  return formatMoney(invoice.total, invoice.paymentCurrency, language);
}

/** Invoices grouped by their day in the reader's time zone, in their order. */
export function byDay<T extends { created_at: string }>(list: T[], dayOf: (iso: string) => string): [string, T[]][] {
  const days = new Map<string, T[]>();
  for (const each of list) {
    const day = dayOf(each.created_at);
    days.set(day, [...(days.get(day) ?? []), each]);
  }
  return [...days];
}

const METHODS = ['arcblock', 'ethereum', 'base', 'bitcoin', 'stripe'] as const;

/** The payment method in the reader's language; an unknown kind keeps the name that the store gave it. */
export function methodText(method: Pick<PaymentMethod, 'type' | 'name'>, { t }: Pick<Texts, 't'>): string {
  const known = METHODS.find((each) => each === method.type);
  return known ? t(`portal.method.${known}`) : method.name;
}

/** The text of an empty list: an active subscription names the date of its next invoice. */
export function emptyText(subscription: InvoiceSubscription | null | undefined, { t, language }: Texts): string {
  const runs = subscription?.status === 'active' || subscription?.status === 'trialing';
  if (!runs || !subscription?.current_period_end) return t('portal.invoices.empty');
  return t('invoices.emptyUntil', { date: dayText(subscription.current_period_end * 1000, language) });
}

/** From day to day, in the reader's time zone. */
export const spanText = ({ start, end }: Span, language: Texts['language']) =>
  `${dayText(start * 1000, language)} – ${dayText(end * 1000, language)}`;
