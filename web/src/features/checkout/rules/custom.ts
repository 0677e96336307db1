import { formatMoney, parseDecimal, toUnits } from '@/lib/amount';
import type { Currency, CustomUnitAmount, Price } from '../types';

/** The amounts that a price lets the buyer choose from in a currency; null if the amount is fixed. */
export function customOf(price: Price, currencyId: string): CustomUnitAmount | null {
  // A recurring price charges its suggested amount.
  if (price.type === 'recurring') return null;
  const option = price.currency_options?.find((it) => it.currency_id === currencyId);
  return (
    (option ? option.custom_unit_amount : price.currency_id === currencyId ? price.custom_unit_amount : null) ?? null
  );
}

/** The number of decimals that can be entered. */
export const precisionOf = ({ decimal, maximum_precision }: Currency) => Math.min(decimal, maximum_precision ?? 6);

export type AmountError =
  | { key: 'amount.invalid' }
  | { key: 'amount.precision'; values: { count: number } }
  | { key: 'amount.between'; values: { min: string; max: string } }
  | { key: 'amount.atLeast'; values: { min: string } };

/** Parses an entered amount into base units, or returns the error. */
export function parseAmount(
  text: string,
  custom: CustomUnitAmount,
  currency: Currency,
  locale: string,
): { amount: string } | { error: AmountError } {
  const normalized = text.trim().replace(/,(?=\d{3}\b)/g, '');
  const match = /^\d+(?:\.(\d+))?$/.exec(normalized);
  if (!match) return { error: { key: 'amount.invalid' } };
  const precision = precisionOf(currency);
  if ((match[1] ?? '').replace(/0+$/, '').length > precision)
    return { error: { key: 'amount.precision', values: { count: precision } } };
  const amount = parseDecimal(normalized.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, ''), currency.decimal) ?? '0';
  const units = toUnits(amount);
  const minimum = toUnits(custom.minimum);
  const maximum = custom.maximum ? toUnits(custom.maximum) : null;
  if (units > 0n && units >= minimum && (maximum === null || units <= maximum)) return { amount };
  const min = formatMoney(minimum.toString(), currency, locale);
  if (maximum === null)
    return { error: minimum > 0n ? { key: 'amount.atLeast', values: { min } } : { key: 'amount.invalid' } };
  return { error: { key: 'amount.between', values: { min, max: formatMoney(maximum.toString(), currency, locale) } } };
}
