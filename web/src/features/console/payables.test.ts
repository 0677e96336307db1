// @vitest-environment happy-dom
import { expect, it } from 'vitest';
import type { Payee } from '@/api/types';
import { payeeRow, payoutBody } from './payables';

const payee: Payee = {
  beneficiary: 'z1a',
  name: '',
  currency_id: 'pc_1',
  currency: { id: 'pc_1', symbol: 'ABT', decimal: 18 },
  earned: '3',
  paid_out: '1',
  recorded: '4',
  payable: '2',
  overpaid: '0',
};

it('sends base units, and what was recorded before', () => {
  expect(payoutBody(payee, { amount: ' 1.5 ', reason: ' Bank transfer 7 ' })).toEqual({
    amount: '1500000000000000000',
    paid_before: '4',
    reason: 'Bank transfer 7',
  });
});

it('tells the currencies of one beneficiary apart', () => {
  expect(payeeRow(payee).id).not.toBe(payeeRow({ ...payee, currency_id: 'pc_2' }).id);
});
