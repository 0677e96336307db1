import { describe, expect, it } from 'vitest';
import type { Price, Recurring } from '@/api/types';
import {
  isPricedIn,
  planQuantity,
  planText,
  priceText,
  recurringPhrase,
  subscriptionName,
  unitAmount,
} from './price-text';
import { texts } from './texts';

const TBA = { id: 'pc_tba', symbol: 'TBA', decimal: 18 };
const price = (changes: Partial<Price> = {}): Price => ({
  id: 'price_1',
  type: 'recurring',
  currency_id: TBA.id,
  unit_amount: '1500000000000000000',
  recurring: { interval: 'month', interval_count: 1, usage_type: 'licensed' },
  ...changes,
});
const translate = (recurring: Recurring, language: 'en' | 'zh' = 'en') => {
  const { key, values } = recurringPhrase(recurring);
  return texts[language].t(key, values);
};

describe('the texts of a recurring price', () => {
  it('name the interval, with special names for quarters and half years', () => {
    expect(translate({ interval: 'hour', interval_count: 1 })).toBe('per hour');
    expect(translate({ interval: 'month', interval_count: 3 })).toBe('every 3 months');
    expect(translate({ interval: 'month', interval_count: 3 }, 'zh')).toBe('每季度');
    expect(translate({ interval: 'month', interval_count: 6 }, 'zh')).toBe('每半年');
    expect(translate({ interval: 'week', interval_count: 2 })).toBe('every 2 weeks');
  });

  it('show amount, unit and interval', () => {
    expect(priceText(price(), TBA, texts.en)).toBe('1.5 TBA / month');
    const seats = price({ product: { name: 'Seat', unit_label: 'seat' } });
    expect(priceText(seats, TBA, texts.en, 3)).toBe('4.5 TBA / seat / month');
    const metered = price({ recurring: { interval: 'month', interval_count: 1, usage_type: 'metered' } });
    expect(priceText(metered, TBA, texts.en, 3)).toBe('1.5 TBA / unit / month');
    expect(priceText(price({ billing_scheme: 'tiered', unit_amount: null }), TBA, texts.en)).toBe(
      'Tiered pricing / month',
    );
  });

  it('show the unit in Chinese if the seller has set it', () => {
    const product = { name: 'Relay', unit_label: 'message', unit_label_zh: '条消息' };
    expect(priceText(price({ product }), TBA, texts.zh)).toBe('1.5 TBA / 条消息 / 月');
    expect(priceText(price({ product }), TBA, texts.en)).toBe('1.5 TBA / message / month');
  });

  it('use the option of the currency, and have no amount in a currency without one', () => {
    const both = price({ currency_options: [{ currency_id: 'pc_usd', unit_amount: '200' }] });
    expect(unitAmount(both, 'pc_usd')).toBe('200');
    expect(unitAmount(both, TBA.id)).toBe('1500000000000000000');
    expect(unitAmount(both, 'pc_none')).toBeNull();
  });

  it('with tiers is available in the currencies that have tiers', () => {
    const tiers = [{ up_to: null, unit_amount: '100' }];
    const option = { currency_id: 'pc_usd', unit_amount: null, tiers };
    const tiered = price({ billing_scheme: 'tiered', unit_amount: null, currency_options: [option] });
    expect(['pc_usd', TBA.id, 'pc_none'].map((id) => isPricedIn(tiered, id))).toEqual([true, true, false]);
  });
});

describe('a subscription', () => {
  const items = [
    { id: 'si_1', price_id: 'price_1', quantity: 1, price: price({ product: { name: 'Chorus' } }) },
    { id: 'si_2', price_id: 'price_2', quantity: 2, price: price({ product: { name: 'Seat', unit_label: 'seat' } }) },
  ];

  it('shows its whole plan in one line', () => {
    expect(planText({ items, paymentCurrency: TBA }, texts.en)).toBe('1.5 TBA / month + 3 TBA / seat / month');
  });

  it("is called by its title in the reader's language, else by its id", () => {
    const subscription = { id: 'sub_1', title: { en: 'Chorus and 1 more', zh: '合唱 等 2 件商品' } };
    expect(subscriptionName(subscription, texts.en)).toBe('Chorus and 1 more');
    expect(subscriptionName(subscription, texts.zh)).toBe('合唱 等 2 件商品');
    expect(subscriptionName({ id: 'sub_1', title: { en: 'Team plan', zh: '' } }, texts.zh)).toBe('Team plan');
    expect(subscriptionName({ id: 'sub_1' }, texts.en)).toBe('sub_1');
  });
});

describe('the quantity of a new plan', () => {
  const item = (id: string, quantity: number, changes: Partial<Price>) => ({
    id,
    price_id: `price_${id}`,
    quantity,
    price: price(changes),
  });
  const seats = { id: 'prod_seat', name: 'Seat', metadata: { plan_group: 'team' } };
  const items = [
    item('usage', 1, { recurring: { interval: 'month', interval_count: 1, usage_type: 'metered' } }),
    item('base', 1, { product: { id: 'prod_base', name: 'Base' } }),
    item('seat', 3, { product: seats }),
  ];

  it('is that of the item with its product', () => {
    expect(planQuantity({ items }, price({ id: 'price_new', product: seats }))).toBe(3);
  });

  it('is that of an item in its plan group with another product', () => {
    const other = { id: 'prod_desk', name: 'Desk', metadata: { plan_group: 'team' } };
    expect(planQuantity({ items }, price({ id: 'price_new', product: other }))).toBe(3);
  });

  it('is else that of the first item with the same usage type', () => {
    expect(planQuantity({ items }, price({ id: 'price_new' }))).toBe(1);
    expect(planQuantity({ items: items.slice(2) }, price({ id: 'price_new' }))).toBe(3);
  });
});
