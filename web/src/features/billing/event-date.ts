import type { Subscription } from '@/api/types';
import { dateText, dateTimeText } from '@/lib/format';
import type { Locale } from '@/lib/locale';

/** The date of an event of a subscription, with the time if it renews several times a day. `at`: Unix seconds. */
export function eventDate(at: number, { items }: Pick<Subscription, 'items'>, language: Locale): string {
  const isHourly = items.some(({ price }) => price.recurring?.interval === 'hour');
  return isHourly ? dateTimeText(at * 1000, language) : dateText(at * 1000, language);
}
