import type { App, AppPrice } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import type { Locale } from '@/lib/locale';

export const priceOf = (price: AppPrice, language: Locale) => formatMoney(price.unit_amount, price, language);

/** The price on the button, and the alternatives in other currencies. */
export function pricesOf(app: Pick<App, 'prices'>, language: Locale): { first: string | null; others: string[] } {
  const [first = null, ...others] = app.prices.map((price) => priceOf(price, language));
  return { first, others };
}
