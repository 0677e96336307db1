import type { Subscription } from '@/api/types';
import { timeOf } from '@/features/billing/subscription-rules';
import { toUnits } from '@/lib/amount';

export type AdminAction =
  | 'resumeBilling'
  | 'resume'
  | 'pause'
  | 'recover'
  | 'returnDeposit'
  | 'forfeitDeposit'
  | 'cancel';

/** The deposit that the store can still move, in base units. */
export const movableDeposit = ({ staking }: Pick<Subscription, 'staking'>): bigint =>
  staking && (staking.status === 'held' || staking.status === 'waiting') ? toUnits(staking.amount) : 0n;

const isReturnable = ({ status, staking }: Pick<Subscription, 'status' | 'staking'>) =>
  status === 'canceled' && staking?.status === 'waiting';

/** What an administrator can do with a customer's subscription, the most urgent first; nothing of it needs a wallet. */
export function adminActions(subscription: Subscription): AdminAction[] {
  const { status, on_hold: onHold, cancel_at_period_end: atEnd, cancel_at: at, current_period_end: end } = subscription;
  const over = status === 'canceled';
  const isRecoverable =
    atEnd && (at === null || at === end) && subscription.cancelation_details?.reason !== 'payment_failed';
  const hasDeposit = movableDeposit(subscription) > 0n;
  const offered: [AdminAction, boolean][] = [
    ['resumeBilling', onHold && !over],
    ['resume', status === 'paused'],
    ['pause', !over && status !== 'paused'],
    ['recover', !over && isRecoverable],
    ['returnDeposit', hasDeposit && isReturnable(subscription)],
    ['forfeitDeposit', hasDeposit],
    ['cancel', !over],
  ];
  return offered.filter(([, can]) => can).map(([action]) => action);
}

export type CancelAt = 'current_period_end' | 'now' | 'custom';

/** When a subscription can end: a trial, and a period that is over, have no end to wait for. */
export const cancelTimes = (subscription: Subscription): CancelAt[] =>
  subscription.status === 'trialing' || subscription.current_period_end <= timeOf(subscription)
    ? ['now', 'custom']
    : ['current_period_end', 'now', 'custom'];
