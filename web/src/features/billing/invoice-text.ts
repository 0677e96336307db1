import type {
  CreditNote,
  Described,
  Invoice,
  InvoiceDetail,
  InvoicePayment,
  InvoiceSubscription,
  PaymentMethod,
  Span,
} from '@/api/types';
import { formatMoney, toUnits } from '@/lib/amount';
import { dateText } from '@/lib/format';
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

/** The descriptions that are more than a name, by their codes. */
const DESCRIPTIONS: Record<string, Key> = {
  remaining_time: 'description.remaining',
  unused_time: 'description.unused',
  deposit: 'description.deposit',
  deposit_plan_change: 'description.depositForPlan',
  deposit_payment_change: 'description.depositForPayment',
  deposit_resume: 'description.deposit',
  deposit_overdraft: 'reason.stake_overdraft_protection',
  overdraft_fee: 'reason.overdraft_protection',
  deposit_forfeited: 'reason.slash_stake',
  deposit_returned: 'description.depositReturned',
  deposit_developer: 'description.deposit',
  deposit_developer_returned: 'description.depositReturned',
  top_up: 'description.topUp',
};

/** What an invoice, a line of it or a payment is for, in the reader's language. */
export function descriptionText(
  { description, description_code: code = '', description_params: names }: Described,
  { t, language }: Pick<Texts, 't' | 'language'>,
): string {
  const first = (language === 'zh' && names?.name_zh) || names?.name || description || '';
  const others = Number(names?.others ?? 0);
  const name =
    names?.name && others > 0 ? t('description.several', { name: first, count: others, total: others + 1 }) : first;
  const key = DESCRIPTIONS[code];
  return key ? t(key, { name }) : name;
}

/** Whether its customer can pay this invoice from here. */
export const isPayable = ({ status, billing_reason: reason }: Pick<Invoice, 'status' | 'billing_reason'>) =>
  status === 'uncollectible' && reason !== 'overdraft_protection';

export function invoiceAmount(invoice: Pick<Invoice, 'total' | 'paymentCurrency'>, { language }: Texts): string {
  return formatMoney(invoice.total, invoice.paymentCurrency, language);
}

/** The remaining amount. */
export const remainingUnits = ({ amount_remaining: remaining, amount_due: due, total }: Partial<Invoice>): string =>
  remaining ?? due ?? total ?? '0';

export function remainingAmount(
  invoice: Pick<Invoice, 'amount_remaining' | 'amount_due' | 'total' | 'paymentCurrency'>,
  { language }: Texts,
): string {
  return formatMoney(remainingUnits(invoice), invoice.paymentCurrency, language);
}

/** A part of the invoice is paid or credited, and something remains. */
export function isPartlySettled(
  invoice: Pick<Invoice, 'status' | 'total' | 'amount_remaining' | 'amount_due'>,
): boolean {
  const isUnpaid = invoice.status === 'open' || invoice.status === 'uncollectible';
  return isUnpaid && toUnits(remainingUnits(invoice)) < toUnits(invoice.total);
}

type Refunded = Pick<Invoice, 'amount_refunded' | 'amount_refund_pending' | 'amount_refund_failed'>;

/**
 * The refunded amount of an invoice, in base units: what is back, what is on its way, and what failed and waits for the store.
 * `amount_refunded` reserves all three.
 */
export function refundParts(invoice: Refunded): { back: bigint; pending: bigint; failed: bigint } {
  const pending = toUnits(invoice.amount_refund_pending);
  const failed = toUnits(invoice.amount_refund_failed);
  const back = toUnits(invoice.amount_refunded) - pending - failed;
  return { back: back > 0n ? back : 0n, pending, failed };
}

/**
 * What to say about the refunds of an invoice; null if nothing is refunded. Until the money of each refund is back, it is failed or
 * pending, in this order. Then all or a part of what was paid is refunded.
 */
export function refundState(
  invoice: Refunded & Pick<Invoice, 'amount_paid'>,
): 'failed' | 'pending' | 'full' | 'partial' | null {
  const { back, pending, failed } = refundParts(invoice);
  if (failed > 0n) return 'failed';
  if (pending > 0n) return 'pending';
  if (back <= 0n) return null;
  return back >= toUnits(invoice.amount_paid) ? 'full' : 'partial';
}

const REFUND_TEXTS = { back: 'refunded', pending: 'refunded.pending', failed: 'refunded.failed' } as const;

/**
 * A refunded amount of an invoice, one text for each state of the money. The state is named if the whole invoice has one, or
 * if the amount is all that was refunded of the invoice.
 */
export function refundTexts(
  amount: string,
  invoice: Refunded | undefined,
  { t }: Pick<Texts, 't'>,
  money: (units: string) => string,
): string[] {
  if (toUnits(amount) <= 0n) return [];
  const parts = refundParts(invoice ?? {});
  const states = (['back', 'pending', 'failed'] as const).filter((state) => parts[state] > 0n);
  const [single] = states;
  if (single && states.length === 1) return [t(`payment.${REFUND_TEXTS[single]}`, { amount: money(amount) })];
  if (toUnits(amount) !== toUnits(invoice?.amount_refunded)) return [t('payment.refunded', { amount: money(amount) })];
  return states.map((state) => t(`payment.${REFUND_TEXTS[state]}`, { amount: money(parts[state].toString()) }));
}

/** What paid an invoice: a card, a wallet, the account balance or a deposit. */
export function sourceText(
  { source, paymentMethod }: Pick<InvoicePayment, 'source' | 'paymentMethod'>,
  { t }: Pick<Texts, 't'>,
): string {
  if (source !== 'network') return t(`source.${source}`);
  return paymentMethod ? methodText(paymentMethod, { t }) : t('source.network');
}

/** What pays an invoice: its payment method, or the balance or deposit that paid all of it; null if none is known. */
export function paidByText(
  { payments = [], paymentMethod }: Pick<InvoiceDetail, 'payments' | 'paymentMethod'>,
  { t }: Pick<Texts, 't'>,
): string | null {
  const isPaidByStore = payments.length > 0 && payments.every(({ source }) => source !== 'network');
  if (isPaidByStore) return [...new Set(payments.map((payment) => sourceText(payment, { t })))].join(' + ');
  return paymentMethod ? methodText(paymentMethod, { t }) : null;
}

type Credited = Pick<CreditNote, 'due_reduced' | 'to_balance' | 'refunded'>;

/** Where the money of a credit note goes, one text for each destination. */
export function creditTexts(
  note: Credited,
  invoice: Refunded | undefined,
  { t }: Pick<Texts, 't'>,
  money: (units: string) => string,
): string[] {
  const destinations = [
    ['credit.dueReduced', note.due_reduced],
    ['credit.toBalance', note.to_balance],
  ] as const;
  const texts = destinations
    .filter(([, units]) => toUnits(units) > 0n)
    .map(([key, units]) => t(key, { amount: money(units) }));
  return [...texts, ...refundTexts(note.refunded, invoice, { t }, money)];
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

/** The text of an empty list: a subscription that will renew names the date of its next invoice. */
export function emptyText(subscription: InvoiceSubscription | null | undefined, { t, language }: Texts): string {
  const runs = subscription?.status === 'active' || subscription?.status === 'trialing';
  if (!runs || subscription.cancel_at_period_end || !subscription.current_period_end) return t('portal.invoices.empty');
  return t('invoices.emptyUntil', { date: dateText(subscription.current_period_end * 1000, language) });
}

/** From day to day, in the reader's time zone. */
export const spanText = ({ start, end }: Span, language: Texts['language']) =>
  `${dateText(start * 1000, language)} – ${dateText(end * 1000, language)}`;
