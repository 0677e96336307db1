import type { PayingBalance, Subscription } from '@/api/types';
import { toUnits } from '@/lib/amount';

/** The numbers of periods that a top-up offers. */
export const TOP_UP_PERIODS = [1, 3, 12];

/** How many periods the paying account covers; null if its balance or the price of a period is unknown. */
export function periodsCovered({ balance, period_amount: period }: PayingBalance): number | null {
  const price = toUnits(period);
  return balance === null || price === 0n ? null : Number(toUnits(balance) / price);
}

/** The price of some periods, in base units. */
export const amountFor = (periods: number, { period_amount: period }: PayingBalance) =>
  (toUnits(period) * BigInt(periods)).toString();

/** Some periods of a subscription in units of its interval: two quarters are six months. */
export function durationOf(periods: number, { items }: Pick<Subscription, 'items'>) {
  const recurring = items.find(({ price }) => price.recurring)?.price.recurring;
  if (!recurring) return { interval: 'period' as const, count: periods };
  return { interval: recurring.interval, count: periods * recurring.interval_count };
}
