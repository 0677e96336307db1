// @vitest-environment happy-dom
import { beforeEach, describe, expect, test } from 'vitest';
import { priceText } from '@/i18n/price';
import { type Locale, setLocale } from '@/lib/locale';
import type { Currency, CustomUnitAmount, LineItem, PaymentMethod, Price, Recurring } from '../types';
import { customOf, parseAmount } from './custom';
import { dueOf, headline, lineAmount, orderAmount, renewals, renewalText, stakeAmount } from './price';
import { periodSeconds, upsellPercent } from './upsell';

const tba: Currency = { id: 'pc_tba', symbol: 'TBA', decimal: 18, name: 'Token', payment_method_id: 'pm_1' };
const wallet = { id: 'pm_1', type: 'arcblock' } as PaymentMethod;
const card = { id: 'pm_2', type: 'stripe' } as PaymentMethod;
const UNIT = 10n ** 18n;
const units = (human: number) => ((BigInt(Math.round(human * 1000)) * UNIT) / 1000n).toString();
const every = (interval: string, interval_count = 1, usage_type = 'licensed') =>
  ({ interval, interval_count, usage_type }) as Recurring;

const plan = (amount: number, recurring: Recurring | null, changes: Partial<Price> = {}): LineItem => ({
  price_id: 'price_1',
  quantity: 1,
  price: {
    id: 'price_1',
    type: recurring ? 'recurring' : 'one_time',
    currency_id: 'pc_tba',
    unit_amount: units(amount),
    recurring,
    product: { id: 'prod_1', name: 'Lantern', name_zh: '灯笼' },
    ...changes,
  },
});
const texts = (items: LineItem[], locale: Locale = 'en') =>
  renewals(items, 'pc_tba').map((it) => renewalText(it, tba, locale));

beforeEach(() => setLocale('en'));

describe('a period', () => {
  test.each([
    [every('hour'), 3600],
    [every('hour', 6), 21_600],
    [every('day'), 86_400],
    [every('week', 2), 1_209_600],
    [every('month', 3), 7_776_000],
    [every('year'), 31_536_000],
  ])('%o lasts %i s', (recurring, seconds) => {
    expect(periodSeconds(recurring)).toBe(seconds);
  });

  test('with another interval throws', () => {
    expect(() => periodSeconds(every('minute'))).toThrow('Unsupported recurring interval: minute');
  });
});

describe('the saving of a longer interval', () => {
  test.each([
    [10, 'month', 100, 'year', 16],
    [10, 'month', 99, 'year', 17],
    [10, 'day', 60, 'week', 14],
    [10, 'week', 40, 'month', 0],
    [10, 'month', 130, 'year', 0],
    [0, 'month', 100, 'year', 0],
    [100, 'year', 5, 'month', 0],
  ])('%i a %s against %i a %s: %i %%', (from, short, to, long, percent) => {
    const amounts = [
      { amount: units(from), recurring: every(short) },
      { amount: units(to), recurring: every(long) },
    ] as const;
    expect(upsellPercent(...amounts)).toBe(percent);
  });
});

describe('renewals', () => {
  test('are grouped by interval, with usage mentioned', () => {
    expect(texts([plan(1.5, every('month'))])).toEqual(['1.5 TBA per month']);
    expect(texts([plan(0.01, every('month', 1, 'metered'))])).toEqual(['billed by usage per month']);
    expect(texts([plan(1.5, every('month')), plan(0.01, every('month', 1, 'metered'))])).toEqual([
      '1.5 TBA per month plus usage',
    ]);
    expect(texts([plan(1, every('month')), plan(2, every('month')), plan(9, every('year')), plan(4, null)])).toEqual([
      '3 TBA per month',
      '9 TBA per year',
    ]);
  });

  test('are formatted in Chinese', () => {
    setLocale('zh');
    expect(texts([plan(1.5, every('month', 3))], 'zh')).toEqual(['每季度 1.5 TBA']);
    expect(texts([plan(0.01, every('month', 1, 'metered'))], 'zh')).toEqual(['每月按用量计费']);
    expect(headline([plan(1, every('month'))], null, 'zh').values).toEqual({ name: '灯笼' });
  });
});

describe('the stake', () => {
  const items = [plan(10, every('month')), plan(3, every('month', 1, 'metered')), plan(50, null)];
  const stake = (data: object, method = wallet) => stakeAmount(items, { currency: tba, method }, data);

  test('is the recurring amount of a period, or the larger of the configured minimums', () => {
    expect(stake({})).toBe(units(13));
    expect(stake({ billing_threshold_amount: 2 })).toBe(units(2));
    expect(stake({ billing_threshold_amount: 2, min_stake_amount: '7.5' })).toBe(units(7.5));
  });

  test('is required only for recurring prices paid by an ArcBlock wallet, and not if disabled', () => {
    expect(stake({}, card)).toBe('0');
    expect(stake({ no_stake: true })).toBe('0');
    expect(stakeAmount([plan(5, null)], { currency: tba, method: wallet }, {})).toBe('0');
  });
});

describe('the amount due', () => {
  const items = [plan(10, every('month')), plan(50, null)];
  const option = { currency: tba, method: wallet };

  test('is computed without a server quote', () => {
    expect(dueOf(items, option, { trialing: true, data: {}, quoted: null })).toEqual({
      total: units(50),
      renew: units(10),
      stake: units(10),
    });
  });

  test('is the server’s quote, with a stake only for wallets', () => {
    const due = { now: '7', renew: '8', stake: '9' };
    expect(dueOf(items, option, { trialing: false, data: {}, quoted: due })).toEqual({
      total: '7',
      renew: '8',
      stake: '9',
    });
    expect(dueOf(items, { currency: tba, method: card }, { trialing: false, data: {}, quoted: due }).stake).toBe('0');
  });
});

describe('tiers', () => {
  const tiers = [
    { up_to: 10, unit_amount: units(2), flat_amount: units(1) },
    { up_to: null, unit_amount: units(1), flat_amount: '0' },
  ];
  const line = (mode: 'graduated' | 'volume', quantity: number) => ({
    ...plan(0, every('month'), { tiers_mode: mode, tiers }),
    quantity,
  });

  test.each([
    ['graduated', 1, 3],
    ['graduated', 10, 21],
    ['graduated', 15, 26],
    ['volume', 10, 21],
    ['volume', 15, 15],
  ] as const)('%s: %i units cost %i', (mode, quantity, cost) => {
    expect(lineAmount(line(mode, quantity), 'pc_tba')).toBe(units(cost));
    expect(orderAmount([line(mode, quantity)], 'pc_tba', true)).toEqual({ total: '0', renew: units(cost) });
  });
});

describe('a custom amount', () => {
  const usd: Currency = { id: 'pc_usd', symbol: 'USD', decimal: 2, name: 'Dollar', payment_method_id: 'pm_2' };
  const range: CustomUnitAmount = { minimum: '100', maximum: '10000' };

  test.each([
    ['5', { amount: '500' }],
    [' 2.50 ', { amount: '250' }],
    ['1,000', { error: { key: 'amount.between', values: { min: '$1.00', max: '$100.00' } } }],
    ['0.99', { error: { key: 'amount.between', values: { min: '$1.00', max: '$100.00' } } }],
    ['2.505', { error: { key: 'amount.precision', values: { count: 2 } } }],
    ['-5', { error: { key: 'amount.invalid' } }],
    ['', { error: { key: 'amount.invalid' } }],
  ])('%s', (text, expected) => {
    expect(parseAmount(text, range, usd, 'en')).toEqual(expected);
  });

  test('has at most the decimals of its currency, and is not zero', () => {
    const precise = { ...tba, maximum_precision: 3 };
    expect(parseAmount('1.2345', {}, precise, 'en')).toEqual({
      error: { key: 'amount.precision', values: { count: 3 } },
    });
    expect(parseAmount('1.2340', {}, precise, 'en')).toEqual({ amount: units(1.234) });
    expect(parseAmount('0', {}, precise, 'en')).toEqual({ error: { key: 'amount.invalid' } });
    expect(parseAmount('0.5', { minimum: units(1) }, tba, 'en')).toEqual({
      error: { key: 'amount.atLeast', values: { min: '1 TBA' } },
    });
  });

  test('is available only in the currency that offers it', () => {
    const { price } = plan(1, null, {
      currency_options: [{ currency_id: 'pc_usd', unit_amount: '0', custom_unit_amount: range }],
    });
    expect(customOf(price, 'pc_usd')).toBe(range);
    expect(customOf(price, 'pc_tba')).toBeNull();
    expect(priceText(price, usd, { language: 'en' })).toBe('Custom (USD)');
  });
});
