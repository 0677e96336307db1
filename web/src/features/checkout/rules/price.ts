import { formatMoney, parseDecimal, toUnits } from '@/lib/amount';
import { locale } from '@/lib/locale';
import { type Phrase, t, translate } from '../text';
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
} from '../wire';
import { recurringPhrase, recurringSuffix } from './recurring';

function customPreset(custom: CustomUnitAmount | null | undefined): string | null {
  return custom?.preset ?? custom?.presets?.[0] ?? null;
}

/** The unit amount of a price in a currency; '0' with a warning when the price does not know the currency. */
export function unitAmount(price: Price, currencyId: string): string {
  const option = price.currency_options?.find((it) => it.currency_id === currencyId);
  if (option) return customPreset(option.custom_unit_amount) ?? option.unit_amount ?? '0';
  if (price.currency_id === currencyId) return customPreset(price.custom_unit_amount) ?? price.unit_amount ?? '0';
  // biome-ignore lint/suspicious/noConsole: SPEC.md 8 asks for this warning; the amount is then 0.
  console.warn(`Currency not configured for price ${price.id}: ${currencyId}`);
  return '0';
}

export function knowsCurrency(price: Price, currencyId: string): boolean {
  return (
    price.currency_id === currencyId || Boolean(price.currency_options?.some((it) => it.currency_id === currencyId))
  );
}

/** The price that counts: an accepted upsell replaces the one it grew from. */
export function pricedAs(item: LineItem): Price {
  return item.upsell_price ?? item.price;
}

export function isCustom(price: Price): boolean {
  return Boolean(price.custom_unit_amount) || Boolean(price.currency_options?.some((it) => it.custom_unit_amount));
}

export interface Trial {
  unit: 'minute' | 'hour' | 'day';
  count: number;
}

/** The free time before the first charge; an end in the future wins over a number of days. `now`: unix seconds. */
export function trialOf(data: SubscriptionData | null | undefined, currencyId: string, now: number): Trial | null {
  if (!data) return null;
  const only = (data.trial_currency ?? '')
    .split(',')
    .map((it) => it.trim())
    .filter(Boolean);
  if (only.length > 0 && !only.includes(currencyId)) return null;
  if (data.trial_end && data.trial_end > now) {
    const left = data.trial_end - now;
    if (left < 3600) return { unit: 'minute', count: Math.ceil(left / 60) };
    if (left < 86_400) return { unit: 'hour', count: Math.ceil(left / 3600) };
    return { unit: 'day', count: Math.ceil(left / 86_400) };
  }
  return data.trial_period_days ? { unit: 'day', count: data.trial_period_days } : null;
}

/** The terms for a customer who has had their trial. */
export const withoutTrial = (data: SubscriptionData | null | undefined): SubscriptionData | null =>
  data ? { ...data, trial_period_days: null, trial_end: null } : null;

export interface OrderAmount {
  /** Base units due now. */
  total: string;
  /** Base units of one renewal. */
  renew: string;
}

/** What is due now and at each renewal. Metered and trialing items are due later. */
export function orderAmount(items: LineItem[], currencyId: string, trialing: boolean): OrderAmount {
  if (items.length > 1 && items.some((item) => isCustom(pricedAs(item)))) {
    throw new Error('Multiple items with custom unit amount are not supported');
  }
  let total = 0n;
  let renew = 0n;
  for (const item of items) {
    const price = pricedAs(item);
    const amount = lineUnits(item, currencyId);
    if (price.type === 'recurring') {
      renew += amount;
      if (trialing || price.recurring?.usage_type === 'metered') continue;
    }
    total += amount;
  }
  return { total: total.toString(), renew: renew.toString() };
}

function tiersOf(price: Price, currencyId: string): Tier[] {
  const option = price.currency_options?.find((it) => it.currency_id === currencyId);
  return option?.tiers ?? (price.currency_id === currencyId ? price.tiers : null) ?? [];
}

/** Graduated: each unit by its own tier and each tier's flat amount once. Volume: all by the tier of the quantity. */
function tieredUnits(tiers: Tier[], volume: boolean, quantity: bigint): bigint {
  let below = 0n;
  let sum = 0n;
  for (const tier of tiers) {
    const end = tier.up_to ? BigInt(tier.up_to) : quantity;
    const last = quantity <= end;
    const counted = volume ? quantity : (last ? quantity : end) - below;
    const part = toUnits(tier.unit_amount) * counted + toUnits(tier.flat_amount);
    sum = volume ? part : sum + part;
    if (last) break;
    below = end;
  }
  return quantity > 0n ? sum : 0n;
}

function lineUnits(item: LineItem, currencyId: string): bigint {
  if (item.custom_amount) return toUnits(item.custom_amount);
  const price = pricedAs(item);
  const quantity = BigInt(item.quantity);
  const tiers = price.tiers_mode ? tiersOf(price, currencyId) : [];
  if (tiers.length > 0) return tieredUnits(tiers, price.tiers_mode === 'volume', quantity);
  return toUnits(unitAmount(price, currencyId)) * quantity;
}

/** The amount of one line of the order, in base units. */
export function lineAmount(item: LineItem, currencyId: string): string {
  return lineUnits(item, currencyId).toString();
}

/** "1.5 TBA / month", "4.5 TBA / seat / month", "Custom (TBA)". */
export function priceText(price: Price, currency: Currency, quantity: number, locale: string): string {
  if (isCustom(price)) return t('price.custom', { symbol: currency.symbol });
  const amount = (toUnits(unitAmount(price, currency.id)) * BigInt(quantity)).toString();
  const parts = [formatMoney(amount, currency, locale)];
  parts.push(priceSuffix(price));
  return parts.join(' ').trimEnd();
}

export const isMetered = (price: Price) => price.recurring?.usage_type === 'metered';

/** What stands behind the amount of a price: "/ seat / month", nothing for one that is paid once without a unit. */
export function priceSuffix(price: Price): string {
  const parts: string[] = [];
  const product = price.product;
  const unit = (locale() === 'zh' && product?.unit_label_zh) || product?.unit_label;
  if (unit) parts.push(`/ ${unit}`);
  else if (isMetered(price)) parts.push(t('price.perUnit'));
  if (price.type === 'recurring' && price.recurring) parts.push(translate(recurringSuffix(price.recurring)));
  return parts.join(' ');
}

export interface Renewal {
  rhythm: Recurring;
  /** Base units that are certain; use comes on top of it. */
  amount: string;
  metered: boolean;
}

/** What is paid again and again, by rhythm. */
export function renewals(items: LineItem[], currencyId: string): Renewal[] {
  const found: Renewal[] = [];
  for (const item of items) {
    const price = pricedAs(item);
    const rhythm = price.recurring;
    if (price.type !== 'recurring' || !rhythm) continue;
    let renewal = found.find(
      ({ rhythm: it }) => it.interval === rhythm.interval && it.interval_count === rhythm.interval_count,
    );
    if (!renewal) {
      renewal = { rhythm, amount: '0', metered: false };
      found.push(renewal);
    }
    if (isMetered(price)) renewal.metered = true;
    else renewal.amount = (toUnits(renewal.amount) + lineUnits(item, currencyId)).toString();
  }
  return found;
}

/** "1.5 TBA per month", "per month based on usage", "1.5 TBA per month plus usage". */
export function renewalText({ rhythm, amount, metered }: Renewal, currency: Currency, locale: string): string {
  const interval = translate(recurringPhrase(rhythm));
  if (amount === '0' && metered) return t('price.byUsage', { interval });
  const text = t('price.renewal', { amount: formatMoney(amount, currency, locale), interval });
  return metered ? t('price.plusUsage', { amount: text }) : text;
}

/** What a wallet stakes for a subscription, in base units: what the seller asks for, else one period of all that recurs. */
export function stakeAmount(
  items: LineItem[],
  { currency, method }: { currency: Currency; method: PaymentMethod },
  data: SubscriptionData | null | undefined,
): string {
  const recurs = items.some((item) => pricedAs(item).type === 'recurring');
  if (!recurs || method.type !== 'arcblock' || data?.no_stake) return '0';
  const asked = [data?.billing_threshold_amount, data?.min_stake_amount].map((it) =>
    toUnits(parseDecimal(String(it ?? 0), currency.decimal)),
  );
  const least = asked.reduce((a, b) => (a > b ? a : b), 0n);
  return least > 0n ? least.toString() : orderAmount(items, currency.id, false).renew;
}

/** What is due: as the server quotes it where it does, else by the same rules here. */
export function dueOf(
  items: LineItem[],
  option: { currency: Currency; method: PaymentMethod },
  terms: { trialing: boolean; data: SubscriptionData | null | undefined; quoted: Due | null | undefined },
): OrderAmount & { stake: string } {
  const own = orderAmount(items, option.currency.id, terms.trialing);
  const stake = option.method.type === 'arcblock' ? terms.quoted?.stake : '0';
  return {
    total: terms.quoted?.now ?? own.total,
    renew: terms.quoted?.renew ?? own.renew,
    stake: stake ?? stakeAmount(items, option, terms.data),
  };
}

/** What a price's product is called in the language of the page. */
export function productName({ product }: Price, locale: string): string | undefined {
  return (locale === 'zh' && product?.name_zh) || product?.name;
}

export function productDescription({ product }: Price, locale: string): string | undefined {
  return (locale === 'zh' && product?.description_zh) || product?.description || undefined;
}

/** The line above the amount: what the customer is about to do, and with how many items. */
export function headline(items: LineItem[], trial: Trial | null, locale = 'en'): Phrase {
  const recurring = items.filter((item) => pricedAs(item).type === 'recurring');
  const first = recurring[0] ?? items[0];
  const name = (first && productName(pricedAs(first), locale)) ?? '';
  const isPure = recurring.length === items.length;
  const verb = recurring.length === 0 ? 'buy' : trial && isPure ? 'try' : 'subscribe';
  if (items.length < 2) return { key: `headline.${verb}`, values: { name } };
  const values = { name, count: items.length - 1, total: items.length };
  return { key: recurring.length > 0 && !isPure ? 'headline.subscribeItems' : `headline.${verb}More`, values };
}
