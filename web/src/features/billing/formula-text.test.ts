import { describe, expect, it } from 'vitest';
import type { PricingFormula } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import { formulaText } from './formula-text';
import { texts } from './texts';

const money = (units: string) => formatMoney(units, { symbol: 'SKT', decimal: 1 }, 'en');
const both = (formula: PricingFormula) => [
  formulaText(formula, texts.en, money),
  formulaText(formula, texts.zh, money),
];

const HOUR = 3_600;
const DAY = 24 * HOUR;

const prorated = (seconds: number, of_seconds: number, rounded_up = false): PricingFormula => ({
  kind: 'prorated',
  whole: '100',
  seconds,
  of_seconds,
  rounded_up,
});

describe('the formula of an amount', () => {
  it('shows units and tiers as sums', () => {
    const units: PricingFormula = { kind: 'per_unit', unit_amount: '15', quantity: 3 };
    expect(both(units)).toEqual(['3 × 1.5 SKT', '3 × 1.5 SKT']);
    const charges = [
      { quantity: 5, unit_amount: '100', flat_amount: '1000' },
      { quantity: 1, unit_amount: '85', flat_amount: '0' },
    ];
    expect(both({ kind: 'tiered', charges })[0]).toBe('5 × 10 SKT + 100 SKT + 1 × 8.5 SKT');
    expect(both({ kind: 'tiered', charges: [] })[0]).toBe('0 SKT');
    expect(both({ kind: 'flat', amount: '15' })).toEqual(['1.5 SKT', '1.5 SKT']);
    expect(both({ kind: 'custom', amount: '15' })).toEqual(['The amount you chose: 1.5 SKT', '自选金额：1.5 SKT']);
  });

  it('shows a share in the longest unit that divides both times', () => {
    expect(both(prorated(12 * DAY, 30 * DAY))).toEqual(['10 SKT × 12/30 days', '10 SKT × 12/30 天']);
    expect(both(prorated(HOUR / 2, HOUR, true))).toEqual([
      '10 SKT × 30/60 minutes, rounded up',
      '10 SKT × 30/60 分钟，向上取整',
    ]);
    expect(both(prorated(12 * DAY + HOUR + 5, 30 * DAY))).toEqual([
      '10 SKT for 12 days 1 hour 5 seconds of 30 days',
      '10 SKT，按 12 天 1 小时 5 秒/30 天计',
    ]);
    expect(both(prorated(0, 30 * DAY))[0]).toBe('10 SKT × 0/30 days');
    expect(both(prorated(5, 10))[0]).toBe('10 SKT for 5 seconds of 10 seconds');
    expect(both(prorated(0, 0))[0]).toBe('10 SKT');
  });

  it('names the terms of a deposit', () => {
    const deposit = { kind: 'stake', threshold: '20', minimum: '50', recurring: '7' } as const;
    expect(both(deposit)).toEqual(['Refundable deposit required by the store: 5 SKT', '商店要求的押金（可退）：5 SKT']);
    expect(both({ ...deposit, threshold: '0', minimum: '0' })).toEqual([
      'Price of one period: 0.7 SKT',
      '一个周期的费用：0.7 SKT',
    ]);
  });

  it('of usage shows the whole and what was already billed', () => {
    const whole: PricingFormula = { kind: 'per_unit', unit_amount: '15', quantity: 3 };
    expect(both({ kind: 'rest', whole, billed: '30' })).toEqual([
      '3 × 1.5 SKT, less 3 SKT already billed',
      '3 × 1.5 SKT，减去已计费的 3 SKT',
    ]);
  });
});
