import { toUnits } from '@/lib/amount';
import type { Recurring } from '../wire';

const DAY_S = 86_400;
const SECONDS: Record<string, number> = {
  hour: 3600,
  day: DAY_S,
  week: 7 * DAY_S,
  month: 30 * DAY_S,
  year: 365 * DAY_S,
};

/** The length of a period of fixed intervals, in seconds. */
export function periodSeconds({ interval, interval_count }: Recurring): number {
  const length = SECONDS[interval];
  if (!length) throw new Error(`Unsupported recurring interval: ${interval}`);
  return length * interval_count;
}

/** How many per cent the longer rhythm saves over the shorter one repeated; 0 when it saves nothing. Base units. */
export function upsellPercent(
  from: { amount: string; recurring: Recurring },
  to: { amount: string; recurring: Recurring },
): number {
  const times = Math.floor(periodSeconds(to.recurring) / periodSeconds(from.recurring));
  const repeated = toUnits(from.amount) * BigInt(times);
  if (repeated <= 0n) return 0;
  const percent = Number(((repeated - toUnits(to.amount)) * 100n) / repeated);
  return percent > 0 ? percent : 0;
}
