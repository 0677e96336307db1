import { describe, expect, it } from 'vitest';
import type { Recurring } from '@/api/types';
import { type PriceTerms, priceText, recurringText, suffixText, unitAmountIn, unitPriceText } from './price';

const TBA = { id: 'pc_tba', symbol: 'TBA', decimal: 18 };
const english = { language: 'en' } as const;
const chinese = { language: 'zh' } as const;
const every = (interval: Recurring['interval'], interval_count = 1): Recurring => ({ interval, interval_count });
const metered: Recurring = { ...every('month'), usage_type: 'metered' };
const oneTime = (changes: Partial<PriceTerms> = {}): PriceTerms => ({
  currency_id: TBA.id,
  unit_amount: '1500000000000000000',
  ...changes,
});
const monthly = (changes: Partial<PriceTerms> = {}) => oneTime({ recurring: every('month'), ...changes });
const seat = { product: { unit_label: 'seat' } };

describe('an interval', () => {
  it('has special names for quarters and half years', () => {
    expect(recurringText(every('hour'), 'en')).toBe('per hour');
    expect(recurringText(every('month', 3), 'en')).toBe('every 3 months');
    expect(recurringText(every('month', 3), 'zh')).toBe('每季度');
    expect(recurringText(every('month', 6), 'zh')).toBe('每半年');
    expect(recurringText(every('week', 2), 'en')).toBe('every 2 weeks');
    expect(recurringText(every('week', 2), 'zh')).toBe('每 2 周');
  });

  it('follows the unit of a plan', () => {
    expect(suffixText(undefined, every('month'), 'en')).toBe('/ month');
    expect(suffixText('seat', every('month', 3), 'en')).toBe('/ seat every 3 months');
    expect(suffixText('seat', every('month', 3), 'zh')).toBe('/ seat / 季度');
    expect(suffixText(undefined, every('month', 6), 'zh')).toBe('/ 半年');
    expect(suffixText(undefined, every('month', 4), 'zh')).toBe('/ 4 个月');
    expect(suffixText(undefined, every('day'), 'zh')).toBe('/ 天');
  });

  it('says when usage is billed', () => {
    const quarterly: Recurring = { ...every('month', 3), usage_type: 'metered' };
    expect(suffixText('', metered, 'en')).toBe('/ unit, billed monthly');
    expect(suffixText('call', quarterly, 'en')).toBe('/ call, billed every 3 months');
    expect(suffixText('次调用', metered, 'zh')).toBe('/ 次调用，按月结算');
    expect(suffixText('次调用', quarterly, 'zh')).toBe('/ 次调用，每季度结算');
  });
});

describe('the text of a price', () => {
  it.each([
    [oneTime(), 2, '3 TBA'],
    [monthly(), 1, '1.5 TBA / month'],
    [monthly({ recurring: every('month', 3) }), 1, '1.5 TBA every 3 months'],
    [monthly(seat), 1, '1.5 TBA / seat / month'],
    [monthly(seat), 3, '4.5 TBA / month'],
    [oneTime(seat), 3, '4.5 TBA'],
    [monthly({ recurring: metered }), 3, '1.5 TBA / unit, billed monthly'],
    [oneTime({ custom_unit_amount: { preset: '1' } }), 1, 'Custom (TBA)'],
  ])('%#: has amount, unit and interval', (price, quantity, text) => {
    expect(priceText(price, TBA, english, quantity)).toBe(text);
  });

  it('is in Chinese, with the Chinese unit if the seller has set it', () => {
    const product = { unit_label: 'message', unit_label_zh: '条消息' };
    expect(priceText(monthly({ product }), TBA, chinese)).toBe('1.5 TBA / 条消息 / 月');
    expect(priceText(monthly({ product }), TBA, english)).toBe('1.5 TBA / message / month');
  });

  it('has no amount if the price has tiers, whose unit amount is zero', () => {
    const tiered = { billing_scheme: 'tiered', tiers_mode: 'graduated', unit_amount: '0' };
    expect(priceText(monthly({ ...tiered, ...seat }), TBA, english, 3)).toBe('Tiered pricing / seat / month');
    expect(priceText(monthly({ ...tiered, unit_amount: null }), TBA, chinese)).toBe('阶梯定价 / 月');
    const calls = monthly({ ...tiered, recurring: metered, product: { unit_label: 'call' } });
    expect(unitPriceText(calls, TBA, english)).toBe('Tiered pricing / call');
  });

  it('of one unit leaves out the interval', () => {
    expect(unitPriceText(monthly({ recurring: metered }), TBA, english)).toBe('1.5 TBA / unit');
    expect(unitPriceText(monthly(seat), TBA, english)).toBe('1.5 TBA / seat');
  });
});

it('the unit amount comes from the option of the currency, if there is one', () => {
  const both = monthly({ currency_options: [{ currency_id: 'pc_usd', unit_amount: '200' }] });
  expect(unitAmountIn(both, 'pc_usd')).toBe('200');
  expect(unitAmountIn(both, TBA.id)).toBe('1500000000000000000');
  expect(unitAmountIn(both, 'pc_none')).toBeNull();
});
