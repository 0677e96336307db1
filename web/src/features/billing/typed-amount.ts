import { formatAmount, parseDecimal, toUnits } from '@/lib/amount';

export type AmountError = 'amountWrong' | 'amountMost';

/** The error of an amount as it was typed; null when it is above zero and at most `most`, in base units. */
export function amountError(typed: string, decimals: number, most: bigint): AmountError | null {
  const amount = toUnits(parseDecimal(typed, decimals));
  if (amount <= 0n) return 'amountWrong';
  return amount > most ? 'amountMost' : null;
}

/** Base units as somebody types them. */
export const typedAmount = (units: bigint, decimals: number) => formatAmount(units.toString(), decimals);
