import type { Price, Subscription, Text } from '@/api/types';
import { isMetered, isTiered, priceText } from '@/i18n/price';
import type { Texts } from './texts';

export { priceText };

/** Whether a price has an amount or tiers in a currency. */
export function isPricedIn(price: Price, currencyId: string): boolean {
  const option = price.currency_options?.find(({ currency_id: id }) => id === currencyId);
  if (option) return option.unit_amount !== null || Boolean(option.tiers?.length);
  return price.currency_id === currencyId && (price.unit_amount !== null || isTiered(price));
}

/** The whole plan in one line. */
export function planText({ items, paymentCurrency }: Pick<Subscription, 'items' | 'paymentCurrency'>, texts: Texts) {
  return items.map(({ price, quantity }) => priceText(price, paymentCurrency, texts, quantity)).join(' + ');
}

/** The quantity of a new plan: that of the item that it replaces. The server chooses the item in the same way. */
export function planQuantity({ items }: Pick<Subscription, 'items'>, plan: Price): number {
  const group = plan.product?.metadata?.plan_group;
  const candidates = items.filter(({ price }) => isMetered(price) === isMetered(plan));
  const item =
    candidates.find(({ price }) => plan.product?.id !== undefined && price.product?.id === plan.product.id) ??
    candidates.find(({ price }) => group !== undefined && price.product?.metadata?.plan_group === group) ??
    candidates[0];
  return item?.quantity ?? 1;
}

/** The product name; the Chinese one on a Chinese page, if the seller has set it. */
export const productName = ({ product, id }: Price, { language }: Pick<Texts, 'language'>): string =>
  (language === 'zh' && product?.name_zh) || product?.name || id;

/** What a subscription is called in the reader's language, else its id. */
export const subscriptionName = (
  { title, id = '' }: { title?: Text; id?: string },
  { language }: Pick<Texts, 'language'>,
): string => title?.[language] || title?.en || id;
