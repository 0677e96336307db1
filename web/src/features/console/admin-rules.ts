import type { Subscription } from '@/api/types';
import { timeOf } from '@/features/billing/subscription-rules';
import { toUnits } from '@/lib/amount';
import { dateTimeText } from '@/lib/format';
import type { AdminTexts } from './admin-texts';

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

/** Whether the owner has to decide about unbilled periods. */
export const needsChoice = ({ on_hold_reason: reason }: Pick<Subscription, 'on_hold_reason'>): boolean =>
  reason === 'unbilled_periods';

/**
 * The actions of an administrator for a customer's subscription, the most urgent first. None of them needs a wallet.
 */
export function adminActions(subscription: Subscription): AdminAction[] {
  const { status, on_hold: onHold, cancel_at_period_end: atEnd, cancel_at: at, current_period_end: end } = subscription;
  const isCanceled = status === 'canceled';
  const isRecoverable =
    atEnd && (at === null || at === end) && subscription.cancelation_details?.reason !== 'payment_failed';
  const hasDeposit = movableDeposit(subscription) > 0n;
  const candidates: [AdminAction, boolean][] = [
    ['resumeBilling', onHold && !isCanceled],
    // A pause would end the unbilled periods without a decision.
    ['resume', status === 'paused' && !needsChoice(subscription)],
    ['pause', !isCanceled && status !== 'paused' && !needsChoice(subscription)],
    ['recover', !isCanceled && isRecoverable],
    ['returnDeposit', hasDeposit && isReturnable(subscription)],
    ['forfeitDeposit', hasDeposit],
    ['cancel', !isCanceled],
  ];
  return candidates.filter(([, isAllowed]) => isAllowed).map(([action]) => action);
}

/** Why billing of a subscription has stopped. */
export const onHoldText = (
  { on_hold_reason: reason, on_hold_until: until, unbilled_periods: count, ...subscription }: Subscription,
  { t, language }: AdminTexts,
): string =>
  t(`onHold.${reason ?? 'other'}`, {
    symbol: subscription.paymentCurrency.symbol,
    method: subscription.paymentMethod.name,
    count,
    date: until ? dateTimeText(until * 1000, language) : '',
  });

export type CancelAt = 'current_period_end' | 'now' | 'custom';

/** When a subscription can end. A trial, or a period that is over, has no period end to wait for. */
export const cancelTimes = (subscription: Subscription): CancelAt[] =>
  subscription.status === 'trialing' || subscription.current_period_end <= timeOf(subscription)
    ? ['now', 'custom']
    : ['current_period_end', 'now', 'custom'];
