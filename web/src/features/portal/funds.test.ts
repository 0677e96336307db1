import { describe, expect, it } from 'vitest';
import type { SubscriptionFunds } from '@/api/types';
import { amountFor, periodsCovered } from './funds';

const funds = (changes: Partial<SubscriptionFunds> = {}): SubscriptionFunds => ({
  payer: 'z1',
  currency_id: 'pc_1',
  balance: '1250000000000000000000',
  period_amount: '500000000000000000',
  maximum: '50000000000000000000',
  ...changes,
});

describe('the account that pays', () => {
  it('covers whole periods only', () => {
    expect(periodsCovered(funds())).toBe(2500);
    expect(periodsCovered(funds({ balance: '999999999999999999' }))).toBe(1);
    expect(periodsCovered(funds({ balance: '0' }))).toBe(0);
  });

  it('covers nobody knows how many where its network or the price says nothing', () => {
    expect(periodsCovered(funds({ balance: null }))).toBeNull();
    expect(periodsCovered(funds({ period_amount: null }))).toBeNull();
    expect(periodsCovered(funds({ period_amount: '0' }))).toBeNull();
  });

  it('is given exactly what so many periods cost', () => {
    expect(amountFor(12, funds({ period_amount: '333333333333333333' }))).toBe('3999999999999999996');
  });
});
