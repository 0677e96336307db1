import { parseDecimal, toUnits } from '@/lib/amount';

export type AmountFault = 'amountWrong' | 'amountMost';

/** What is wrong with a typed amount; null when it is above zero and at most `most`, in base units. */
export function amountFault(typed: string, decimals: number, most: bigint): AmountFault | null {
  const amount = toUnits(parseDecimal(typed, decimals));
  if (amount <= 0n) return 'amountWrong';
  return amount > most ? 'amountMost' : null;
}
