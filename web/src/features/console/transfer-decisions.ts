import type { HoldDecision, TransferOnHold } from '@/api/types';
import { toUnits } from '@/lib/amount';

/** Which texts describe a decision: of the option (`heldTransfers.to`), and of its result (`heldTransfers.done`). */
export interface DecisionText {
  key:
    | 'retry'
    | 'balanceRest'
    | 'balanceExcess'
    | 'revenue'
    | 'return'
    | 'bookExcess'
    | 'bookDeposit'
    | 'bookNothing'
    | 'bookReturn'
    | 'bookForfeit'
    | 'book';
  done: 'retry' | 'balance' | 'return' | 'nothing' | 'book';
}

const TEXTS = {
  retry: { key: 'retry', done: 'retry' },
  revenue: { key: 'revenue', done: 'book' },
  return: { key: 'return', done: 'return' },
} as const;

/** The texts of a decision, which depend on the type of the transfer and on whether less or more was moved. */
export function decisionText(
  { type, amount, amount_moved: moved }: Pick<TransferOnHold, 'type' | 'amount' | 'amount_moved'>,
  decision: HoldDecision,
): DecisionText {
  if (decision === 'balance')
    return { key: toUnits(moved) > toUnits(amount) ? 'balanceExcess' : 'balanceRest', done: 'balance' };
  if (decision !== 'book') return TEXTS[decision];
  if (type === 'refund' || type === 'balance_payout') return { key: 'bookExcess', done: 'book' };
  if (toUnits(moved) === 0n && type === 'stake') return { key: 'bookNothing', done: 'nothing' };
  if (type === 'stake') return { key: 'bookDeposit', done: 'book' };
  if (type === 'stake_return' && toUnits(moved) < toUnits(amount)) return { key: 'bookReturn', done: 'book' };
  if (type === 'stake_forfeit') return { key: 'bookForfeit', done: 'book' };
  return { key: 'book', done: 'book' };
}
