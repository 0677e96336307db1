import { describe, expect, it } from 'vitest';
import { texts as storeTexts } from '@/app/i18n';
import { byDay, descriptionText, reasonText } from './invoice-text';

const texts = storeTexts.en;

describe('the words of an invoice', () => {
  it('say the billing reason, and leave an unknown one as it came', () => {
    expect(reasonText('stake', texts)).toBe('Stake');
    expect(reasonText('brand_new', texts)).toBe('brand_new');
  });

  it('fall back to the id when there is no description', () => {
    expect(descriptionText({ id: 'in_1', description: null, billing_reason: 'manual' }, texts)).toBe('in_1');
    expect(descriptionText({ id: 'in_1', description: 'Lantern', billing_reason: 'manual' }, texts)).toBe('Lantern');
  });

  it("replace the kit's own descriptions by the reason", () => {
    const cycle = { id: 'in_1', description: 'Subscription cycle', billing_reason: 'subscription_cycle' };
    expect(descriptionText(cycle, texts)).toBe('Subscription renewal');
  });
});

describe('invoices by day', () => {
  it('stand under their day in the order they came', () => {
    const list = ['2026-01-02T09:00', '2026-01-02T08:00', '2026-01-01T08:00'].map((created_at) => ({ created_at }));
    const days = byDay(list, (iso) => iso.slice(0, 10));
    expect(days.map(([day, each]) => [day, each.length])).toEqual([
      ['2026-01-02', 2],
      ['2026-01-01', 1],
    ]);
  });
});
