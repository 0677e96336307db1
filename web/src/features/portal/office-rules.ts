import type { SessionUser, Subscription } from '@/api/types';
import { toUnits } from '@/lib/amount';
import { mayRefund } from './refund';
import { timeOf } from './subscription-rules';

type User = Pick<SessionUser, 'role' | 'did'> | null | undefined;

/** Whether somebody who runs the store looks at what belongs to a customer. Their own they manage as its customer. */
export const actsForStore = (user: User, customerDid: string | undefined): boolean =>
  mayRefund(user) && customerDid !== undefined && customerDid !== user?.did;

export type OfficeAction = 'unpark' | 'resume' | 'pause' | 'recover' | 'returnStake' | 'slash' | 'cancel';

type Held = Pick<Subscription, 'status' | 'staking'>;

/** The stake that the store can still move, in base units. */
export const movableStake = ({ staking }: Pick<Subscription, 'staking'>): bigint =>
  staking && (staking.status === 'held' || staking.status === 'waiting') ? toUnits(staking.amount) : 0n;

const canReturn = ({ status, staking }: Held) => status === 'canceled' && staking?.status === 'waiting';

/** What the store can do with a customer's subscription, what it waits for first; nothing of it needs their wallet. */
export function officeActions(subscription: Subscription): OfficeAction[] {
  const { status, parked, cancel_at_period_end: atEnd, cancel_at: at, current_period_end: end } = subscription;
  const over = status === 'canceled';
  const recoverable =
    atEnd && (at === null || at === end) && subscription.cancelation_details?.reason !== 'payment_failed';
  const staked = movableStake(subscription) > 0n;
  const offered: [OfficeAction, boolean][] = [
    ['unpark', parked && !over],
    ['resume', status === 'paused'],
    ['pause', !over && status !== 'paused'],
    ['recover', !over && recoverable],
    ['returnStake', staked && canReturn(subscription)],
    ['slash', staked],
    ['cancel', !over],
  ];
  return offered.filter(([, can]) => can).map(([action]) => action);
}

export type CancelAt = 'current_period_end' | 'now' | 'custom';

/** When a subscription can be ended: a trial, and a period that is over, have no end to wait for. */
export const cancelTimes = (subscription: Subscription): CancelAt[] =>
  subscription.status === 'trialing' || subscription.current_period_end <= timeOf(subscription)
    ? ['now', 'custom']
    : ['current_period_end', 'now', 'custom'];
