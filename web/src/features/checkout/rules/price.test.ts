// @vitest-environment happy-dom
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { setLocale } from '@/lib/locale';
import { translate } from '../text';
import type { Currency, LineItem, Price } from '../types';
import { headline, lineAmount, lineText, offerText, orderAmount, totalWithStake, trialOf, unitAmount } from './price';

const tba: Currency = { id: 'pc_tba', symbol: 'TBA', decimal: 18, name: 'Token', payment_method_id: 'pm_1' };
const ONE_AND_A_HALF = '1500000000000000000';

const price = (changes: Partial<Price> = {}): Price => ({
  id: 'price_1',
  type: 'one_time',
  currency_id: 'pc_tba',
  unit_amount: ONE_AND_A_HALF,
  product: { id: 'prod_1', name: 'Lantern' },
  ...changes,
});
const monthly = (changes: Partial<Price> = {}) =>
  price({ type: 'recurring', recurring: { interval: 'month', interval_count: 1, usage_type: 'licensed' }, ...changes });
const item = (of: Price, changes: Partial<LineItem> = {}): LineItem => ({
  price_id: of.id,
  price: of,
  quantity: 1,
  ...changes,
});

beforeEach(() => setLocale('en'));

describe('the unit amount', () => {
  test('comes from the currency option, preset first', () => {
    const options = [{ currency_id: 'pc_usd', unit_amount: '500', custom_unit_amount: { presets: ['700', '900'] } }];
    expect(unitAmount(price({ currency_options: options }), 'pc_usd')).toBe('700');
    expect(unitAmount(price({ currency_options: [{ currency_id: 'pc_usd', unit_amount: '500' }] }), 'pc_usd')).toBe(
      '500',
    );
  });

  test('is zero with a warning in an unsupported currency', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    expect(unitAmount(price(), 'pc_other')).toBe('0');
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('Currency not configured for price'));
    warn.mockRestore();
  });
});

describe('the text of an item with tiers', () => {
  const tiers = [
    { up_to: 2, unit_amount: ONE_AND_A_HALF, flat_amount: '0' },
    { up_to: null, unit_amount: '500000000000000000', flat_amount: '0' },
  ];
  const product = { id: 'p', name: 'X', unit_label: 'seat' };
  const tiered = monthly({ unit_amount: '0', billing_scheme: 'tiered', tiers_mode: 'graduated', tiers, product });
  const usage = { interval: 'month', interval_count: 1, usage_type: 'metered' } as const;

  test('is the amount of its quantity', () => {
    expect(lineText(item(tiered, { quantity: 3 }), tba, 'en')).toBe('3.5 TBA');
    expect(offerText(tiered, tba, 'en')).toBe('1.5 TBA / seat / month');
  });

  test('shows no amount before there is usage', () => {
    const metered = { ...tiered, recurring: usage };
    expect(lineText(item(metered), tba, 'en')).toBe('Tiered pricing');
    expect(offerText(metered, tba, 'en')).toBe('Tiered pricing / seat, billed monthly');
  });
});

describe('the amount of an order', () => {
  test('is exact beyond the range of a float', () => {
    const dear = price({ unit_amount: '12345678901234567890500000000000000000' });
    expect(lineAmount(item(dear, { quantity: 3 }), 'pc_tba')).toBe('37037036703703703671500000000000000000');
  });

  test('uses a custom amount independent of the quantity', () => {
    const custom = price({ custom_unit_amount: { preset: '1' } });
    expect(orderAmount([item(custom, { custom_amount: '70', quantity: 5 })], 'pc_tba', false).total).toBe('70');
    expect(orderAmount([item(custom, { quantity: 5 })], 'pc_tba', false).total).toBe('1');
    const lowest = price({ custom_unit_amount: { presets: [], minimum: '3' } });
    expect(orderAmount([item(lowest)], 'pc_tba', false).total, 'what the server proposes').toBe('3');
  });

  test('excludes renewals and metered usage from the amount due now', () => {
    const metered = monthly({ id: 'm', recurring: { interval: 'month', interval_count: 1, usage_type: 'metered' } });
    const items = [
      item(price({ unit_amount: '10' })),
      item(monthly({ unit_amount: '5' }), { quantity: 2 }),
      item({ ...metered, unit_amount: '1' }),
    ];
    expect(orderAmount(items, 'pc_tba', false)).toEqual({ total: '20', renew: '11' });
    expect(orderAmount(items, 'pc_tba', true)).toEqual({ total: '10', renew: '11' });
  });

  test('uses the price of an accepted upsell', () => {
    expect(
      orderAmount([item(price({ unit_amount: '1' }), { upsell_price: price({ unit_amount: '9' }) })], 'pc_tba', false)
        .total,
    ).toBe('9');
  });

  test('includes the deposit in the total', () => {
    expect(totalWithStake({ total: '20', stake: '11' })).toBe('31');
  });

  test('throws for several items if one has a custom amount', () => {
    const items = [item(price({ custom_unit_amount: { preset: '1' } })), item(price())];
    expect(() => orderAmount(items, 'pc_tba', false)).toThrow(
      'Multiple items with custom unit amount are not supported',
    );
  });
});

describe('a trial', () => {
  test.each([
    [59, { unit: 'minute', count: 1 }],
    [3599, { unit: 'minute', count: 60 }],
    [3600, { unit: 'hour', count: 1 }],
    [86_399, { unit: 'hour', count: 24 }],
    [86_400, { unit: 'day', count: 1 }],
    [86_401, { unit: 'day', count: 2 }],
  ])('that ends in %i s has the right unit', (left, shown) => {
    expect(trialOf({ trial_end: 1000 + left, trial_period_days: 30 }, 'pc_tba', 1000)).toEqual(shown);
  });

  test('applies only to its currencies', () => {
    expect(trialOf({ trial_period_days: 7, trial_currency: 'pc_usd, pc_eur' }, 'pc_tba', 0)).toBeNull();
    expect(trialOf({ trial_period_days: 7, trial_currency: 'pc_usd,pc_tba' }, 'pc_tba', 0)).toEqual({
      unit: 'day',
      count: 7,
    });
  });
});

describe('the headline', () => {
  const text = (...of: Parameters<typeof headline>) => translate(headline(...of));

  test('names the first item, and counts the others', () => {
    expect(text([item(price())], null)).toBe('Buy Lantern');
    expect(text([item(price()), item(price())], null)).toBe('Buy Lantern and 1 more item');
    expect(text([item(price()), item(price()), item(price())], null)).toBe('Buy Lantern and 2 more items');
  });

  test('uses subscribe or try, and counts the others', () => {
    expect(text([item(monthly())], null)).toBe('Subscribe to Lantern');
    expect(text([item(monthly()), item(monthly())], null)).toBe('Subscribe to Lantern and 1 more');
    expect(text([item(monthly())], { unit: 'day', count: 7 })).toBe('Try Lantern');
    expect(text([item(price()), item(monthly())], null)).toBe('Subscribe to Lantern, plus 1 more item');
  });

  test('counts all items in Chinese, and uses the Chinese name', () => {
    setLocale('zh');
    const product = { id: 'prod_1', name: 'Lantern', name_zh: '灯笼' };
    const plans = [item(monthly({ product })), item(monthly()), item(monthly())];
    expect(text(plans, null, 'zh')).toBe('订阅灯笼等 3 项服务');
    expect(text([item(price({ product }))], null, 'zh')).toBe('购买灯笼');
  });
});
