import { describe, expect, it } from 'vitest';
import type { PayingBalance } from '@/api/types';
import { amountFor, durationOf, periodsCovered } from './balance';

const balance = (changes: Partial<PayingBalance> = {}): PayingBalance => ({
  payer: 'z1',
  currency_id: 'pc_1',
  balance: '1250000000000000000000',
  period_amount: '500000000000000000',
  maximum: '50000000000000000000',
  ...changes,
});

describe('the paying account', () => {
  it('covers whole periods only', () => {
    expect(periodsCovered(balance())).toBe(2500);
    expect(periodsCovered(balance({ balance: '999999999999999999' }))).toBe(1);
    expect(periodsCovered(balance({ balance: '0' }))).toBe(0);
  });

  it('covers an unknown number of periods without a balance or a fixed price', () => {
    expect(periodsCovered(balance({ balance: null }))).toBeNull();
    expect(periodsCovered(balance({ period_amount: null }))).toBeNull();
    expect(periodsCovered(balance({ period_amount: '0' }))).toBeNull();
  });

  it('is topped up by the exact price of the periods', () => {
    expect(amountFor(12, balance({ period_amount: '333333333333333333' }))).toBe('3999999999999999996');
  });
});

describe('a number of periods', () => {
  const every = (interval: string, interval_count: number) =>
    ({ items: [{ price: { recurring: { interval, interval_count } } }] }) as never;

  it('is named by the interval of the plan', () => {
    expect(durationOf(331, every('month', 1))).toEqual({ interval: 'month', count: 331 });
    expect(durationOf(2, every('month', 3))).toEqual({ interval: 'month', count: 6 });
    expect(durationOf(2, { items: [] })).toEqual({ interval: 'period', count: 2 });
  });
});
