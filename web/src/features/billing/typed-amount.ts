import { formatAmount, parseDecimal, toUnits } from '@/lib/amount';

export type AmountError = 'amountWrong' | 'amountMost';

/** The error of a typed amount; null if it is above zero and at most `maximum`, in base units. */
export function amountError(typed: string, decimals: number, maximum: bigint): AmountError | null {
  const amount = toUnits(parseDecimal(typed, decimals));
  if (amount <= 0n) return 'amountWrong';
  return amount > maximum ? 'amountMost' : null;
}

/** Formats base units as input for an amount field. */
export const typedAmount = (units: bigint, decimals: number) => formatAmount(units.toString(), decimals);
