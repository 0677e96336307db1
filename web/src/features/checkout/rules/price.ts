import { CodedError } from '@/api/error';
import { amountText, isCustom, isMetered, isTiered, priceSuffix, priceText, recurringText } from '@/i18n/price';
import { formatMoney, parseDecimal, toUnits } from '@/lib/amount';
import type { Locale } from '@/lib/locale';
import { type Phrase, t } from '../text';
import type {
  Currency,
  CustomUnitAmount,
  Due,
  LineItem,
  PaymentMethod,
  Price,
  Recurring,
  SubscriptionData,
  Tier,
} from '../types';

/** The amount of a buyer who chooses none, as the server computes it. */
function proposedAmount(custom: CustomUnitAmount | null | undefined): string | null {
  return custom?.preset ?? custom?.presets?.[0] ?? custom?.minimum ?? null;
}

/** The unit amount of a price in a currency; '0' with a warning if the currency is not supported. */
export function unitAmount(price: Price, currencyId: string): string {
  const option = price.currency_options?.find((each) => each.currency_id === currencyId);
  if (option) return proposedAmount(option.custom_unit_amount) ?? option.unit_amount ?? '0';
  if (price.currency_id === currencyId) return proposedAmount(price.custom_unit_amount) ?? price.unit_amount ?? '0';
  // biome-ignore lint/suspicious/noConsole: SPEC.md 8 requires this warning; the amount is then 0.
  console.warn(`Currency not configured for price ${price.id}: ${currencyId}`);
  return '0';
}

export function supportsCurrency(price: Price, currencyId: string): boolean {
  return (
    price.currency_id === currencyId || Boolean(price.currency_options?.some((each) => each.currency_id === currencyId))
  );
}

/** The longer interval that the buyer can choose for an item, or has chosen, if it is sold in the currency. */
export function upsellOf(item: LineItem, items: LineItem[], currencyId: string): Price | null {
  const target = item.upsell_price ?? (items.length === 1 ? item.price.upsell?.upsells_to : null);
  return target?.recurring && supportsCurrency(target, currencyId) ? target : null;
}

/** The effective price: an accepted upsell replaces the original price. */
export function effectivePrice(item: LineItem): Price {
  return item.upsell_price ?? item.price;
}

export interface Trial {
  unit: 'minute' | 'hour' | 'day';
  count: number;
}

/** The trial before the first charge. A future `trial_end` wins over a number of days. `now`: Unix seconds. */
export function trialOf(data: SubscriptionData | null | undefined, currencyId: string, now: number): Trial | null {
  if (!data) return null;
  const currencies = (data.trial_currency ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
  if (currencies.length > 0 && !currencies.includes(currencyId)) return null;
  if (data.trial_end && data.trial_end > now) {
    const secondsLeft = data.trial_end - now;
    if (secondsLeft < 3600) return { unit: 'minute', count: Math.ceil(secondsLeft / 60) };
    if (secondsLeft < 86_400) return { unit: 'hour', count: Math.ceil(secondsLeft / 3600) };
    return { unit: 'day', count: Math.ceil(secondsLeft / 86_400) };
  }
  return data.trial_period_days ? { unit: 'day', count: data.trial_period_days } : null;
}

/** The terms for a customer who has used their trial. */
export const withoutTrial = (data: SubscriptionData | null | undefined): SubscriptionData | null =>
  data ? { ...data, trial_period_days: null, trial_end: null } : null;

export interface OrderAmount {
  /** Base units due now. */
  total: string;
  /** Base units of one renewal. */
  renew: string;
}

/** The amounts due now and at each renewal. Metered and trialing items are due later. */
export function orderAmount(items: LineItem[], currencyId: string, trialing: boolean): OrderAmount {
  if (items.length > 1 && items.some((item) => isCustom(effectivePrice(item)))) {
    throw new CodedError('Multiple items with custom unit amount are not supported', 'SEVERAL_CUSTOM_AMOUNTS');
  }
  let total = 0n;
  let renew = 0n;
  for (const item of items) {
    const price = effectivePrice(item);
    const amount = lineUnits(item, currencyId);
    if (price.type === 'recurring') {
      renew += amount;
      if (trialing || isMetered(price)) continue;
    }
    total += amount;
  }
  return { total: total.toString(), renew: renew.toString() };
}

function tiersOf(price: Price, currencyId: string): Tier[] {
  const option = price.currency_options?.find((each) => each.currency_id === currencyId);
  return option?.tiers ?? (price.currency_id === currencyId ? price.tiers : null) ?? [];
}

/**
 * Graduated: each unit at its own tier, plus each tier's flat amount. Volume: all units at the tier of the quantity.
 */
function tieredUnits(tiers: Tier[], volume: boolean, quantity: bigint): bigint {
  let previousEnd = 0n;
  let sum = 0n;
  for (const tier of tiers) {
    const end = tier.up_to ? BigInt(tier.up_to) : quantity;
    const last = quantity <= end;
    const counted = volume ? quantity : (last ? quantity : end) - previousEnd;
    const tierAmount = toUnits(tier.unit_amount) * counted + toUnits(tier.flat_amount);
    sum = volume ? tierAmount : sum + tierAmount;
    if (last) break;
    previousEnd = end;
  }
  return quantity > 0n ? sum : 0n;
}

function lineUnits(item: LineItem, currencyId: string): bigint {
  if (item.custom_amount) return toUnits(item.custom_amount);
  const price = effectivePrice(item);
  // A custom amount, chosen or proposed, is for the whole item.
  if (isCustom(price)) return toUnits(unitAmount(price, currencyId));
  const quantity = BigInt(item.quantity);
  const tiers = price.tiers_mode ? tiersOf(price, currencyId) : [];
  if (tiers.length > 0) return tieredUnits(tiers, price.tiers_mode === 'volume', quantity);
  return toUnits(unitAmount(price, currencyId)) * quantity;
}

/** The amount of a line item, in base units. */
export function lineAmount(item: LineItem, currencyId: string): string {
  return lineUnits(item, currencyId).toString();
}

/** The amount of an item; a metered item has none before its first period ends, so its unit price is shown. */
export function lineText(item: LineItem, currency: Currency, language: Locale): string {
  const price = effectivePrice(item);
  return isMetered(price)
    ? amountText(price, currency, { language })
    : formatMoney(lineAmount(item, currency.id), currency, language);
}

/** The price of one unit of an offer: "2 SKT", "4 SKT / seat / month". Tiers are resolved for that unit. */
export function offerText(price: Price, currency: Currency, language: Locale): string {
  if (!isTiered(price)) return priceText(price, currency, { language });
  const amount = lineText({ price_id: price.id, price, quantity: 1 }, currency, language);
  return `${amount} ${priceSuffix(price, { language })}`;
}

export interface Renewal {
  recurring: Recurring;
  /** The fixed amount in base units, without usage. */
  amount: string;
  metered: boolean;
}

/** Renewal amounts by interval. */
export function renewals(items: LineItem[], currencyId: string): Renewal[] {
  const result: Renewal[] = [];
  for (const item of items) {
    const price = effectivePrice(item);
    const recurring = price.recurring;
    if (price.type !== 'recurring' || !recurring) continue;
    let renewal = result.find(
      ({ recurring: each }) => each.interval === recurring.interval && each.interval_count === recurring.interval_count,
    );
    if (!renewal) {
      renewal = { recurring, amount: '0', metered: false };
      result.push(renewal);
    }
    if (isMetered(price)) renewal.metered = true;
    else renewal.amount = (toUnits(renewal.amount) + lineUnits(item, currencyId)).toString();
  }
  return result;
}

/** "1.5 TBA per month", "per month based on usage", "1.5 TBA per month plus usage". */
export function renewalText({ recurring, amount, metered }: Renewal, currency: Currency, locale: Locale): string {
  const interval = recurringText(recurring, locale);
  if (amount === '0' && metered) return t('price.byUsage', { interval });
  const text = t('price.renewal', { amount: formatMoney(amount, currency, locale), interval });
  return metered ? t('price.plusUsage', { amount: text }) : text;
}

/** The stake of a wallet subscription in base units: the configured minimum, else one period of all recurring items. */
export function stakeAmount(
  items: LineItem[],
  { currency, method }: { currency: Currency; method: PaymentMethod },
  data: SubscriptionData | null | undefined,
): string {
  const isRecurring = items.some((item) => effectivePrice(item).type === 'recurring');
  if (!isRecurring || method.type !== 'arcblock' || data?.no_stake) return '0';
  const minimums = [data?.billing_threshold_amount, data?.min_stake_amount].map((each) =>
    toUnits(parseDecimal(String(each ?? 0), currency.decimal)),
  );
  const minimum = minimums.reduce((a, b) => (a > b ? a : b), 0n);
  return minimum > 0n ? minimum.toString() : orderAmount(items, currency.id, false).renew;
}

/** The amounts due: the server's quote if available, else computed here. */
export function dueOf(
  items: LineItem[],
  option: { currency: Currency; method: PaymentMethod },
  terms: { trialing: boolean; data: SubscriptionData | null | undefined; quoted: Due | null | undefined },
): OrderAmount & { stake: string } {
  const { quoted } = terms;
  if (quoted) {
    return { total: quoted.now, renew: quoted.renew, stake: option.method.type === 'stripe' ? '0' : quoted.stake };
  }
  const computed = orderAmount(items, option.currency.id, terms.trialing);
  return { ...computed, stake: stakeAmount(items, option, terms.data) };
}

/** The total that the page shows, with the deposit, in base units. A submit is rejected if the server's total differs. */
export const totalWithStake = ({ total, stake }: { total: string; stake: string }): string =>
  (toUnits(total) + toUnits(stake)).toString();

/** The product name in the page language. */
export function productName({ product }: Price, locale: string): string | undefined {
  return (locale === 'zh' && product?.name_zh) || product?.name;
}

export function productDescription({ product }: Price, locale: string): string | undefined {
  return (locale === 'zh' && product?.description_zh) || product?.description || undefined;
}

/** The headline above the amount: the action and the items. */
export function headline(items: LineItem[], trial: Trial | null, locale = 'en'): Phrase {
  const recurring = items.filter((item) => effectivePrice(item).type === 'recurring');
  const first = recurring[0] ?? items[0];
  const name = (first && productName(effectivePrice(first), locale)) ?? '';
  const isAllRecurring = recurring.length === items.length;
  const verb = recurring.length === 0 ? 'buy' : trial && isAllRecurring ? 'try' : 'subscribe';
  if (items.length < 2) return { key: `headline.${verb}`, values: { name } };
  const values = { name, count: items.length - 1, total: items.length };
  return { key: recurring.length > 0 && !isAllRecurring ? 'headline.subscribeItems' : `headline.${verb}More`, values };
}
