import type { PaymentCurrency, Price, Recurring, Subscription, Text } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import type { Phrase, Texts } from './texts';

/** How often a recurring price is due: "per month", "every 3 months", "every 2 weeks". */
export function recurringPhrase({ interval, interval_count: count }: Recurring): Phrase {
  if (count === 1) return { key: `interval.per.${interval}` };
  if (interval === 'month' && count === 3) return { key: 'interval.every3Months' };
  if (interval === 'month' && count === 6) return { key: 'interval.every6Months' };
  return { key: `interval.every.${interval}`, values: { n: count } };
}

/** The short form after an amount: "/ month". Longer intervals only have the long form. */
function suffix(recurring: Recurring): Phrase {
  return recurring.interval_count === 1 ? { key: `interval.slash.${recurring.interval}` } : recurringPhrase(recurring);
}

/** The unit price in a currency, in base units; null if the price has tiers or lacks the currency. */
export function unitAmount(price: Price, currencyId: string): string | null {
  const option = price.currency_options?.find(({ currency_id: id }) => id === currencyId);
  if (option) return option.unit_amount;
  return price.currency_id === currencyId ? price.unit_amount : null;
}

/** Whether a price has an amount or tiers in a currency. */
export function isPricedIn(price: Price, currencyId: string): boolean {
  const option = price.currency_options?.find(({ currency_id: id }) => id === currencyId);
  if (option) return option.unit_amount !== null || Boolean(option.tiers?.length);
  return price.currency_id === currencyId && (price.unit_amount !== null || price.billing_scheme === 'tiered');
}

/** "1.5 SKT / month", "4.5 SKT / seat / month", "0.02 SKT / unit / month" by usage, "By tiers / month". */
export function priceText(price: Price, currency: PaymentCurrency, { t, language }: Texts, quantity = 1): string {
  const unit = unitAmount(price, currency.id);
  const intervalText = price.recurring ? ` ${phraseText(suffix(price.recurring), t)}` : '';
  if (unit === null || price.billing_scheme === 'tiered') return `${t('price.tiered')}${intervalText}`;
  const metered = isMetered(price);
  const amount = formatMoney((BigInt(unit) * BigInt(metered ? 1 : quantity)).toString(), currency, language);
  const label = unitLabel(price, language) || (metered ? t('price.unit') : '');
  return `${amount}${label ? ` / ${label}` : ''}${intervalText}`;
}

/** The unit label; the Chinese one on a Chinese page, if the seller has set it. */
const unitLabel = ({ product }: Price, language: Texts['language']) =>
  (language === 'zh' && product?.unit_label_zh) || product?.unit_label;

const phraseText = ({ key, values }: Phrase, t: Texts['t']) => t(key, values);

/** The whole plan in one line. */
export function planText({ items, paymentCurrency }: Pick<Subscription, 'items' | 'paymentCurrency'>, texts: Texts) {
  return items.map(({ price, quantity }) => priceText(price, paymentCurrency, texts, quantity)).join(' + ');
}

const isMetered = ({ recurring }: Price) => recurring?.usage_type === 'metered';

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
