import type { SubscriptionFunds } from '@/api/types';
import { toUnits } from '@/lib/amount';

/** So many periods can be added by one choice. */
export const PRESETS = [1, 3, 12];

/** How many periods an account pays for; null where that cannot be told. */
export function periodsCovered({ balance, period_amount: period }: SubscriptionFunds): number | null {
  const price = toUnits(period);
  return balance === null || price === 0n ? null : Number(toUnits(balance) / price);
}

/** What so many periods cost, in base units. */
export const amountFor = (periods: number, { period_amount: period }: SubscriptionFunds) =>
  (toUnits(period) * BigInt(periods)).toString();
