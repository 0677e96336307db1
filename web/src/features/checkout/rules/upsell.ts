import { CodedError } from '@/api/error';
import { toUnits } from '@/lib/amount';
import type { Recurring } from '../types';

const DAY_S = 86_400;
const SECONDS: Record<string, number> = {
  hour: 3600,
  day: DAY_S,
  week: 7 * DAY_S,
  month: 30 * DAY_S,
  year: 365 * DAY_S,
};

/** The length of a period in seconds, with fixed-length intervals. */
export function periodSeconds({ interval, interval_count }: Recurring): number {
  const length = SECONDS[interval];
  if (!length) throw new CodedError(`Unsupported recurring interval: ${interval}`, 'INTERVAL_UNSUPPORTED');
  return length * interval_count;
}

/** The percentage that the longer interval saves over repeating the shorter one, at least 0. Amounts in base units. */
export function upsellPercent(
  from: { amount: string; recurring: Recurring },
  to: { amount: string; recurring: Recurring },
): number {
  const times = Math.floor(periodSeconds(to.recurring) / periodSeconds(from.recurring));
  const withRetries = toUnits(from.amount) * BigInt(times);
  if (withRetries <= 0n) return 0;
  const percent = Number(((withRetries - toUnits(to.amount)) * 100n) / withRetries);
  return percent > 0 ? percent : 0;
}
