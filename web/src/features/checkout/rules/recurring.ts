import type { Phrase } from '../text';
import type { Recurring } from '../types';

/** How often a recurring price is due: "per month", "every 3 months", "every 2 weeks". */
export function recurringPhrase({ interval, interval_count: count }: Recurring): Phrase {
  if (count === 1) return { key: `interval.per.${interval}` };
  if (interval === 'month' && count === 3) return { key: 'interval.every3Months' };
  if (interval === 'month' && count === 6) return { key: 'interval.every6Months' };
  return { key: `interval.every.${interval}`, values: { n: count } };
}

/** The short form after an amount: "/ month". Longer intervals use the long form. */
export function recurringSuffix(recurring: Recurring): Phrase {
  return recurring.interval_count === 1 ? { key: `interval.slash.${recurring.interval}` } : recurringPhrase(recurring);
}
