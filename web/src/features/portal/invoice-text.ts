import type { Invoice, PaymentMethod } from '@/api/types';
import type { useTexts } from '@/app/i18n';
import { formatMoney } from '@/lib/amount';

type Texts = Pick<ReturnType<typeof useTexts>, 't' | 'language'>;

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

/** The billing reason in words; one we do not know is shown as the server wrote it. */
export function reasonText(reason: string, { t }: Texts): string {
  const known = REASONS.find((each) => each === reason);
  return known ? t(`reason.${known}`) : reason;
}

/** The kit replaces its own English descriptions by the reason; an invoice without one is named by its id. */
export function descriptionText(invoice: Pick<Invoice, 'description' | 'billing_reason' | 'id'>, texts: Texts): string {
  const { description, billing_reason: reason, id } = invoice;
  if (!description) return id;
  return /^(Subscription |Slash stake)/.test(description) ? reasonText(reason, texts) : description;
}

export function invoiceAmount(invoice: Pick<Invoice, 'total' | 'paymentCurrency'>, { language }: Texts): string {
  return formatMoney(invoice.total, invoice.paymentCurrency, language);
}

/** Invoices under the day they were written on, in the reader's zone, in the order they came. */
export function byDay<T extends { created_at: string }>(list: T[], dayOf: (iso: string) => string): [string, T[]][] {
  const days = new Map<string, T[]>();
  for (const each of list) {
    const day = dayOf(each.created_at);
    days.set(day, [...(days.get(day) ?? []), each]);
  }
  return [...days];
}

const METHODS = ['arcblock', 'ethereum', 'base', 'bitcoin', 'stripe'] as const;

/** How it was paid, in the reader's language; a method of another kind keeps the name the store gave it. */
export function methodText(method: Pick<PaymentMethod, 'type' | 'name'>, { t }: Pick<Texts, 't'>): string {
  const known = METHODS.find((each) => each === method.type);
  return known ? t(`portal.method.${known}`) : method.name;
}
