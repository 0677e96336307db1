import type { Subscription } from '@/api/types';

export type SubscriptionAction =
  | 'pay'
  | 'cancel'
  | 'resume'
  | 'changePlan'
  | 'changePayment'
  | 'addFunds'
  | 'overdraft';

type Cancelable = Pick<
  Subscription,
  'status' | 'cancel_at_period_end' | 'cancel_at' | 'current_period_end' | 'cancelation_details' | 'mandate'
>;

/** Whether the account of a wallet pays it, which can be topped up. */
export const isPaidByAccount = ({ status, mandate }: Pick<Subscription, 'status' | 'mandate'>) =>
  status !== 'canceled' && mandate?.type === 'delegation';

/** Whether an end is scheduled. */
export const isEnding = ({ status, cancel_at_period_end: atEnd, cancel_at: at }: Cancelable) =>
  status !== 'canceled' && (atEnd || at !== null);

/** The reasons for which a customer cannot undo an end: unpaid invoices, or a decision of the store. */
const FINAL_REASONS: unknown[] = ['payment_failed', 'cancellation_by_store'];

/** What its customer can do with a subscription now, the most urgent first (payment-kit.md 5). */
export function actionsOf(subscription: Cancelable): SubscriptionAction[] {
  const { status, cancel_at_period_end: atPeriodEnd, cancel_at: at, current_period_end: periodEnd } = subscription;
  if (status === 'canceled') return [];
  const ending = isEnding(subscription);
  // Nothing is charged, and only the store resumes it: the customer can end it.
  if (status === 'paused') return ending ? [] : ['cancel'];
  const topUp: SubscriptionAction[] = isPaidByAccount(subscription) ? ['addFunds', 'overdraft'] : [];
  const isUndoable =
    atPeriodEnd &&
    (at === null || at === periodEnd) &&
    !FINAL_REASONS.includes(subscription.cancelation_details?.reason);
  const undo: SubscriptionAction[] = isUndoable ? ['resume'] : [];
  if (status === 'past_due') return ['pay', ...topUp, 'changePayment', ...(ending ? undo : (['cancel'] as const))];
  // It may renew before an end at a time of the store.
  if (at !== null && at !== periodEnd) return ['changePayment', ...topUp];
  if (atPeriodEnd) return undo;
  return ['changePlan', 'changePayment', ...topUp, 'cancel'];
}

export type EventName =
  | 'started'
  | 'trialStarted'
  | 'trialEnds'
  | 'trialEnded'
  | 'renewed'
  | 'cycleStarted'
  | 'pastDue'
  | 'paused'
  | 'canceled'
  | 'renews'
  | 'willEnd'
  | 'ended';

export interface TimelineEvent {
  name: EventName;
  /** Unix seconds. */
  at: number;
  coming: boolean;
}

/** The past and coming events of a subscription in order. `now`: Unix seconds, by its own clock. */
export function timeline(subscription: Subscription, now: number): TimelineEvent[] {
  const { status, start_date: start, trial_start: trialStart, trial_end: trialEnd, cancel_at: cancelAt } = subscription;
  const events: Omit<TimelineEvent, 'coming'>[] = [];
  const add = (name: EventName, at: number | null | undefined) => at != null && events.push({ name, at });
  const endsAt = cancelAt ?? (subscription.cancel_at_period_end ? subscription.current_period_end : null);
  const isCanceled = status === 'canceled';
  // A cancellation may end a trial early.
  const ended = isCanceled ? (subscription.ended_at ?? subscription.canceled_at) : null;

  add(trialStart !== null && trialStart === start ? 'trialStarted' : 'started', start);
  if (trialStart !== null && trialStart !== start) add('trialStarted', trialStart);
  if (trialEnd !== null && (ended === null || trialEnd <= ended))
    add(trialEnd <= now ? 'trialEnded' : 'trialEnds', trialEnd);
  const begun = subscription.current_period_start;
  // The period of an unpaid invoice is not a renewal.
  const unpaidSince = subscription.past_due_since;
  const paid = unpaidSince === null || unpaidSince < begun;
  // A change of the interval, among others, starts a new cycle. Renewals begin later than the anchor of their cycle.
  const isRenewal = begun !== subscription.billing_cycle_anchor;
  const isBegun = ended === null ? begun <= now : begun < ended;
  if (isBegun && paid && begun > start && begun !== trialEnd) add(isRenewal ? 'renewed' : 'cycleStarted', begun);
  if (!isCanceled) add('pastDue', unpaidSince);
  if (status === 'paused') add('paused', subscription.paused_at);
  if (isCanceled) {
    if (subscription.canceled_at !== null && subscription.canceled_at !== ended)
      add('canceled', subscription.canceled_at);
    add('ended', ended);
  } else if (endsAt !== null) {
    add('canceled', subscription.canceled_at);
    add('willEnd', endsAt);
  } else if (status === 'active' || status === 'trialing') {
    add('renews', subscription.next_invoice?.at ?? subscription.current_period_end);
  }
  return events
    .map((event) => ({ ...event, coming: event.name === 'willEnd' || event.name === 'renews' || event.at > now }))
    .sort((a, b) => a.at - b.at)
    .filter(({ name, at }, _, all) => name !== 'trialEnds' || !all.some((it) => it.name === 'willEnd' && it.at === at));
}

/** The next coming event, or the last one. */
export const nextEvent = (events: TimelineEvent[]) => events.find(({ coming }) => coming) ?? events.at(-1);

/** The portal mentions the end of a trial this many seconds before. */
const NEAR_TRIAL_END = 3 * 86_400;

/** Whether a trial ends and payments begin within three days. */
export const trialEndsSoon = ({ status, trial_end: end, cancel_at_period_end: ending }: Subscription, now: number) =>
  status === 'trialing' && !ending && end !== null && end - now <= NEAR_TRIAL_END;

/**
 * The problem of the card that pays for a subscription: it has expired, or expires before the next payment. `now`: Unix
 * seconds. A card is valid to the end of its month, in UTC.
 */
export function cardProblem(subscription: Subscription, now: number): 'expired' | 'expiring' | null {
  const { status, mandate, next_invoice: next, current_period_end: periodEnd } = subscription;
  const { exp_month: month, exp_year: year } = mandate ?? {};
  // It may renew before a later end.
  const renews = (status === 'active' || status === 'trialing') && (!isEnding(subscription) || next !== null);
  const charged = status === 'past_due' || renews;
  if (!charged || mandate?.type !== 'card' || !month || !year) return null;
  const end = Date.UTC(year, month) / 1000;
  if (end <= now) return 'expired';
  // Nothing is charged then.
  if (next?.amount === '0') return null;
  return end <= (next?.at ?? periodEnd) ? 'expiring' : null;
}

/** Past due first, then active, ending, and ended ones; the newest first among equals. */
export function byUrgency(list: Subscription[]): Subscription[] {
  const rank = (each: Subscription) =>
    each.status === 'past_due' ? 0 : each.status === 'canceled' ? 3 : isEnding(each) ? 2 : 1;
  return [...list].sort((a, b) => rank(a) - rank(b) || b.start_date - a.start_date);
}

/** The time of the customer's test clock, or the current time; Unix seconds. */
export const timeOf = ({ test_clock: clock }: Pick<Subscription, 'test_clock'>) =>
  clock?.now ?? Math.floor(Date.now() / 1000);
