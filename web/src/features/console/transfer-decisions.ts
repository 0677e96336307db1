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
    | 'recordExcess'
    | 'recordDeposit'
    | 'recordNothing'
    | 'recordReturn'
    | 'recordForfeit'
    | 'record';
  done: 'retry' | 'balance' | 'return' | 'nothing' | 'record';
}

const TEXTS = {
  retry: { key: 'retry', done: 'retry' },
  revenue: { key: 'revenue', done: 'record' },
  return: { key: 'return', done: 'return' },
} as const;

/** The texts of a decision, which depend on the type of the transfer and on whether less or more was moved. */
export function decisionText(
  { type, amount, amount_moved: moved }: Pick<TransferOnHold, 'type' | 'amount' | 'amount_moved'>,
  decision: HoldDecision,
): DecisionText {
  if (decision === 'balance')
    return { key: toUnits(moved) > toUnits(amount) ? 'balanceExcess' : 'balanceRest', done: 'balance' };
  if (decision !== 'record') return TEXTS[decision];
  if (type === 'refund' || type === 'balance_payout') return { key: 'recordExcess', done: 'record' };
  if (toUnits(moved) === 0n && type === 'stake') return { key: 'recordNothing', done: 'nothing' };
  if (type === 'stake') return { key: 'recordDeposit', done: 'record' };
  if (type === 'stake_return' && toUnits(moved) < toUnits(amount)) return { key: 'recordReturn', done: 'record' };
  if (type === 'stake_forfeit') return { key: 'recordForfeit', done: 'record' };
  return { key: 'record', done: 'record' };
}
