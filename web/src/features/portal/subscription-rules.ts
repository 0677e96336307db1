import type { Subscription } from '@/api/types';

export type SubscriptionAction = 'pay' | 'cancel' | 'resume' | 'changePlan' | 'changePayment' | 'addFunds';

type Cancelable = Pick<
  Subscription,
  'status' | 'cancel_at_period_end' | 'cancel_at' | 'current_period_end' | 'cancelation_details' | 'mandate'
>;

/** Whether the account of a wallet pays it: one that can be filled. */
export const isPaidByAccount = ({ status, mandate }: Pick<Subscription, 'status' | 'mandate'>) =>
  status !== 'canceled' && mandate?.type === 'delegation';

/** Whether an end is set that has not come yet. */
export const isEnding = ({ status, cancel_at_period_end: atEnd, cancel_at: at }: Cancelable) =>
  status !== 'canceled' && (atEnd || at !== null);

/** What its customer can do with a subscription now, the most urgent first (payment-kit.md 5). */
export function actionsOf(subscription: Cancelable): SubscriptionAction[] {
  const {
    status,
    cancel_at_period_end: atPeriodEnd,
    cancel_at: cancelAt,
    current_period_end: periodEnd,
  } = subscription;
  if (status === 'canceled') return [];
  // Nothing is charged, and letting it go on is the store's: what is left is to end it.
  if (status === 'paused') return atPeriodEnd || cancelAt !== null ? [] : ['cancel'];
  const funds: SubscriptionAction[] = isPaidByAccount(subscription) ? ['addFunds'] : [];
  if (status === 'past_due') return ['pay', ...funds, 'changePayment'];
  // One that ends for want of payment, or at a time the store has set, is not the customer's to take back.
  if (cancelAt !== null && cancelAt !== periodEnd) return ['changePayment', ...funds];
  if (atPeriodEnd) return subscription.cancelation_details?.reason === 'payment_failed' ? [] : ['resume'];
  return ['changePlan', 'changePayment', ...funds, 'cancel'];
}

export type EventName =
  | 'started'
  | 'trialStarted'
  | 'trialEnds'
  | 'trialEnded'
  | 'renewed'
  | 'pastDue'
  | 'paused'
  | 'canceled'
  | 'renews'
  | 'willEnd'
  | 'ended';

export interface TimeLineEvent {
  name: EventName;
  /** Unix seconds. */
  at: number;
  coming: boolean;
}

/** What happened with a subscription and what happens next, in order. `now`: unix seconds, by its own clock. */
export function timeLine(subscription: Subscription, now: number): TimeLineEvent[] {
  const { status, start_date: start, trial_start: trialStart, trial_end: trialEnd, cancel_at: cancelAt } = subscription;
  const events: Omit<TimeLineEvent, 'coming'>[] = [];
  const add = (name: EventName, at: number | null | undefined) => at != null && events.push({ name, at });
  const endsAt = cancelAt ?? (subscription.cancel_at_period_end ? subscription.current_period_end : null);
  const over = status === 'canceled';
  // A trial that was ended by a cancellation never came to its end.
  const ended = over ? (subscription.ended_at ?? subscription.canceled_at) : null;

  add(trialStart !== null && trialStart === start ? 'trialStarted' : 'started', start);
  if (trialStart !== null && trialStart !== start) add('trialStarted', trialStart);
  if (trialEnd !== null && (ended === null || trialEnd < ended))
    add(trialEnd <= now ? 'trialEnded' : 'trialEnds', trialEnd);
  const begun = subscription.current_period_start;
  // A period that nobody has paid for is not a renewal.
  const unpaidSince = subscription.past_due_since;
  const paid = unpaidSince === null || unpaidSince < begun;
  if (!over && paid && begun > start && begun !== trialEnd && begun <= now) add('renewed', begun);
  if (!over) add('pastDue', unpaidSince);
  if (status === 'paused') add('paused', subscription.paused_at);
  if (over) {
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

/** What stands beside the status: the one thing that comes next, and when. */
export const nextEvent = (events: TimeLineEvent[]) => events.find(({ coming }) => coming) ?? events.at(-1);

/** Trials end soon within this many seconds: the portal says so. */
const SOON = 3 * 86_400;

/** Whether a trial turns into payments within three days. */
export const trialEndsSoon = ({ status, trial_end: end, cancel_at_period_end: ending }: Subscription, now: number) =>
  status === 'trialing' && !ending && end !== null && end - now <= SOON;

/**
 * What is wrong with the card that a subscription is charged by: it is not good any more, or will not be when the next
 * payment is due. `now`: unix seconds. A card is good to the end of its month, wherever its bank is: we take UTC.
 */
export function cardTrouble(subscription: Subscription, now: number): 'expired' | 'expiring' | null {
  const { status, mandate, next_invoice: next, current_period_end: periodEnd } = subscription;
  const { exp_month: month, exp_year: year } = mandate ?? {};
  // One that ends later may renew before.
  const renews = (status === 'active' || status === 'trialing') && (!isEnding(subscription) || next !== null);
  const charged = status === 'past_due' || renews;
  if (!charged || mandate?.type !== 'card' || !month || !year) return null;
  const end = Date.UTC(year, month) / 1000;
  if (end <= now) return 'expired';
  // Nothing is taken from it then.
  if (next?.amount === '0') return null;
  return end <= (next?.at ?? periodEnd) ? 'expiring' : null;
}

/** Past due first, then what runs, what is going to end, and what has ended; the newest first among equals. */
export function byUrgency(list: Subscription[]): Subscription[] {
  const rank = (each: Subscription) =>
    each.status === 'past_due' ? 0 : each.status === 'canceled' ? 3 : isEnding(each) ? 2 : 1;
  return [...list].sort((a, b) => rank(a) - rank(b) || b.start_date - a.start_date);
}

/** The time by the customer's test clock, else by the wall's; unix seconds. */
export const timeOf = ({ test_clock: clock }: Pick<Subscription, 'test_clock'>) =>
  clock?.now ?? Math.floor(Date.now() / 1000);
