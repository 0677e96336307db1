import { formatMoney, parseDecimal, toUnits } from '@/lib/amount';
import type { Currency, CustomUnitAmount, Price } from '../wire';

/** What a price lets the buyer choose in a currency; null where its amount is fixed. */
export function customOf(price: Price, currencyId: string): CustomUnitAmount | null {
  // What recurs is charged what its price proposes.
  if (price.type === 'recurring') return null;
  const option = price.currency_options?.find((it) => it.currency_id === currencyId);
  return (
    (option ? option.custom_unit_amount : price.currency_id === currencyId ? price.custom_unit_amount : null) ?? null
  );
}

/** Decimals that may be typed. */
export const precisionOf = ({ decimal, maximum_precision }: Currency) => Math.min(decimal, maximum_precision ?? 6);

export type AmountFault =
  | { key: 'amount.invalid' }
  | { key: 'amount.precision'; values: { count: number } }
  | { key: 'amount.between'; values: { min: string; max: string } }
  | { key: 'amount.atLeast'; values: { min: string } };

/** Reads a typed amount: base units, or why it cannot be taken. */
export function readAmount(
  text: string,
  custom: CustomUnitAmount,
  currency: Currency,
  locale: string,
): { amount: string } | { fault: AmountFault } {
  const plain = text.trim().replace(/,(?=\d{3}\b)/g, '');
  const shape = /^\d+(?:\.(\d+))?$/.exec(plain);
  if (!shape) return { fault: { key: 'amount.invalid' } };
  const count = precisionOf(currency);
  if ((shape[1] ?? '').replace(/0+$/, '').length > count)
    return { fault: { key: 'amount.precision', values: { count } } };
  const amount = parseDecimal(plain.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, ''), currency.decimal) ?? '0';
  const units = toUnits(amount);
  const least = toUnits(custom.minimum);
  const most = custom.maximum ? toUnits(custom.maximum) : null;
  if (units > 0n && units >= least && (most === null || units <= most)) return { amount };
  const min = formatMoney(least.toString(), currency, locale);
  if (most === null)
    return { fault: least > 0n ? { key: 'amount.atLeast', values: { min } } : { key: 'amount.invalid' } };
  return { fault: { key: 'amount.between', values: { min, max: formatMoney(most.toString(), currency, locale) } } };
}
