import { describe, expect, test } from 'vitest';
import type { HoldDecision, TransferOnHold } from '@/api/types';
import { decisionText } from './transfer-decisions';

const cases: [TransferOnHold['type'], number, HoldDecision, string][] = [
  ['refund', 4, 'retry', 'retry'],
  ['refund', 4, 'balance', 'balanceRest'],
  ['refund', 15, 'record', 'recordExcess'],
  ['balance_payout', 15, 'record', 'recordExcess'],
  ['stake', 0, 'record', 'recordNothing'],
  ['stake', 4, 'record', 'recordDeposit'],
  ['stake', 4, 'return', 'return'],
  ['stake_return', 4, 'record', 'recordReturn'],
  ['stake_return', 15, 'record', 'record'],
  ['stake_forfeit', 4, 'record', 'recordForfeit'],
  ['stake_forfeit', 15, 'balance', 'balanceExcess'],
  ['stake_forfeit', 15, 'revenue', 'revenue'],
  ['recharge', 4, 'record', 'record'],
];

describe('decisionText', () => {
  test.each(cases)('a %s that moved %i of 10 describes "%s" by %s', (type, moved, decision, key) => {
    expect(decisionText({ type, amount: '10', amount_moved: `${moved}` }, decision).key).toBe(key);
  });
});
