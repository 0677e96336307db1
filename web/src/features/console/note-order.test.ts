import { describe, expect, it } from 'vitest';
import type { CreditNotePreview } from '@/api/types';
import { confirmedOrder, creditableUnits, endsAccess, typedItems } from './note-order';

const preview: CreditNotePreview = {
  invoice_id: 'in_1',
  currency_id: 'pc_usd',
  items: [
    { invoice_item_id: 'ii_1', amount: '250', revokes: true },
    { invoice_item_id: 'ii_2', amount: '5', revokes: false },
  ],
  total: '255',
  due_reduced: '0',
  to_balance: '0',
  refunded: '255',
};
const order = { invoice_id: 'in_1', amount: '2.55', reason: 'duplicate', to: 'refund' } as const;

describe('a credit note order', () => {
  it('contains the lines with an amount above zero', () => {
    const items = typedItems({ ii_1: ' 2.50 ', ii_2: '', ii_3: '0', ii_4: undefined, ii_5: 'x' }, 2);
    expect(items).toEqual([{ invoice_item_id: 'ii_1', amount: '2.50' }]);
  });

  it('has the previewed amount of each item', () => {
    expect(confirmedOrder(order, preview, 2, false)).toEqual({
      invoice_id: 'in_1',
      reason: 'duplicate',
      to: 'refund',
      items: [
        { invoice_item_id: 'ii_1', amount: '2.5', revokes: true },
        { invoice_item_id: 'ii_2', amount: '0.05', revokes: false },
      ],
    });
  });

  it('revokes nothing if access is kept', () => {
    const items = confirmedOrder(order, preview, 2, true).items ?? [];
    expect(items.map(({ revokes }) => revokes)).toEqual([false, false]);
    expect(endsAccess(preview)).toBe(true);
  });

  it('credits at most the rest of a line after earlier notes', () => {
    expect(creditableUnits({ amount: '500', credited: '120' })).toBe(380n);
    expect(creditableUnits({ amount: '500' })).toBe(500n);
  });
});
