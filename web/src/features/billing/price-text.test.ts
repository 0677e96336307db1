import { describe, expect, it } from 'vitest';
import type { Price } from '@/api/types';
import { isPricedIn, planQuantity, planText, subscriptionName } from './price-text';
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

describe('a price', () => {
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
    expect(planText({ items, paymentCurrency: TBA }, texts.en)).toBe('1.5 TBA / month + 3 TBA / month');
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
