import type { Recurring } from '@/api/types';
import { formatMoney, toUnits } from '@/lib/amount';
import type { Locale } from '@/lib/locale';
import en from './en/price.json';
import { type KeyOf, textFor, type Values } from './light';
import zh from './zh/price.json';

/** The texts of prices in checkout, store and portal. */

/** The fields of a price that its text depends on. Amounts are base units. */
export interface PriceTerms {
  currency_id: string;
  unit_amount: string | null;
  billing_scheme?: string;
  tiers_mode?: string | null;
  custom_unit_amount?: object | null;
  currency_options?: { currency_id: string; unit_amount: string | null; custom_unit_amount?: object | null }[] | null;
  recurring?: Recurring | null;
  product?: { unit_label?: string | null; unit_label_zh?: string | null };
}

interface PriceCurrency {
  id: string;
  symbol: string;
  decimal: number;
}

interface Language {
  language: Locale;
}

const catalogues = { en, zh };
const t = (key: KeyOf<typeof en>, language: Locale, values?: Values) => textFor(catalogues, language, key, values);

/** How often a recurring price is due: "per month", "every 3 months", "every 2 weeks". */
export function recurringText({ interval, interval_count: count }: Recurring, language: Locale): string {
  if (count === 1) return t(`interval.per.${interval}`, language);
  if (interval === 'month' && count === 3) return t('interval.every3Months', language);
  if (interval === 'month' && count === 6) return t('interval.every6Months', language);
  return t(`interval.every.${interval}`, language, { n: count });
}

/** The form after an amount: "/ month", "every 3 months"; in Chinese always with a slash: "/ 季度". */
const recurringSuffix = (recurring: Recurring, language: Locale) =>
  recurringText(recurring, language).replace(/^(per |每 ?)/, '/ ');

/** When usage is billed: ", billed monthly", ", billed every 3 months". */
const billedText = (recurring: Recurring, language: Locale) =>
  recurring.interval_count === 1
    ? t(`interval.billed.${recurring.interval}`, language)
    : t('interval.billed', language, { interval: recurringText(recurring, language) });

/** The amount depends on the usage of a period. */
export const isMetered = ({ recurring }: Pick<PriceTerms, 'recurring'>) => recurring?.usage_type === 'metered';

/** The amount of a unit depends on the quantity. The unit amount of such a price is meaningless. */
export const isTiered = ({ billing_scheme, tiers_mode }: PriceTerms) =>
  billing_scheme === 'tiered' || Boolean(tiers_mode);

/** The customer chooses the amount. */
export const isCustom = ({ custom_unit_amount, currency_options }: PriceTerms) =>
  Boolean(custom_unit_amount) || Boolean(currency_options?.some((option) => option.custom_unit_amount));

/** The unit amount in a currency; null if the price lacks the currency. */
export function unitAmountIn(price: PriceTerms, currencyId: string): string | null {
  const option = price.currency_options?.find(({ currency_id: id }) => id === currencyId);
  if (option) return option.unit_amount;
  return price.currency_id === currencyId ? price.unit_amount : null;
}

/** The amount for a quantity, without its suffix: "4.5 SKT", "Tiered pricing", "Custom (SKT)". */
export function amountText(price: PriceTerms, currency: PriceCurrency, { language }: Language, quantity = 1): string {
  if (isCustom(price)) return t('price.custom', language, { symbol: currency.symbol });
  if (isTiered(price)) return t('price.tiered', language);
  const amount = toUnits(unitAmountIn(price, currency.id)) * BigInt(isMetered(price) ? 1 : quantity);
  return formatMoney(amount.toString(), currency, language);
}

/** "/ seat"; empty for a licensed price without a unit label. */
function unitSuffix(label: string | null | undefined, recurring: Recurring | null | undefined, language: Locale) {
  const unit = label || (isMetered({ recurring }) ? t('price.unit', language) : '');
  return unit ? `/ ${unit}` : '';
}

/** "/ seat / month", from the label of a unit and the interval; by usage "/ call, billed monthly". */
export function suffixText(
  label: string | null | undefined,
  recurring: Recurring | null | undefined,
  language: Locale,
) {
  const unit = unitSuffix(label, recurring, language);
  if (!recurring) return unit;
  if (isMetered({ recurring })) return unit + billedText(recurring, language);
  return `${unit} ${recurringSuffix(recurring, language)}`.trim();
}

/** The unit label; the Chinese one on a Chinese page, if the seller has set it. */
const unitLabel = ({ product }: PriceTerms, language: Locale) =>
  (language === 'zh' && product?.unit_label_zh) || product?.unit_label;

/**
 * The suffix of a price: "/ seat / month"; empty for a one-time price without a unit label. The amount of several units
 * is not a price per unit, so that only the interval follows it.
 */
export const priceSuffix = (price: PriceTerms, { language }: Language, quantity = 1) =>
  suffixText(quantity > 1 && !isMetered(price) ? null : unitLabel(price, language), price.recurring, language);

/**
 * "1.5 SKT / month", "4.5 SKT / seat / month", "0.02 SKT / unit, billed monthly" by usage, "Tiered pricing / seat / month".
 */
export const priceText = (price: PriceTerms, currency: PriceCurrency, texts: Language, quantity = 1): string =>
  `${amountText(price, currency, texts, quantity)} ${priceSuffix(price, texts, isTiered(price) ? 1 : quantity)}`.trimEnd();

/** The price of one unit, without the interval: "0.02 SKT / call". */
export const unitPriceText = (price: PriceTerms, currency: PriceCurrency, texts: Language): string =>
  `${amountText(price, currency, texts)} ${unitSuffix(unitLabel(price, texts.language), price.recurring, texts.language)}`.trimEnd();
