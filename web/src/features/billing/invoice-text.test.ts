import { describe, expect, it } from 'vitest';
import { byDay, descriptionText, emptyText, isPayable, reasonText } from './invoice-text';
import { texts as portalTexts } from './texts';

const texts = portalTexts.en;

describe('the texts of an invoice', () => {
  it('name the billing reason and leave an unknown one as it is', () => {
    expect(reasonText('stake', texts)).toBe('Refundable deposit');
    expect(reasonText('brand_new', texts)).toBe('brand_new');
  });

  it('fall back to the id when there is no description', () => {
    expect(descriptionText({ id: 'in_1', description: null, billing_reason: 'manual' }, texts)).toBe('in_1');
    expect(descriptionText({ id: 'in_1', description: 'Lantern', billing_reason: 'manual' }, texts)).toBe('Lantern');
  });

  it("replace the kit's own descriptions by the reason", () => {
    const cycle = { id: 'in_1', description: 'Subscription cycle', billing_reason: 'subscription_cycle' };
    expect(descriptionText(cycle, texts)).toBe('Renewal');
  });
});

describe("the kit's own descriptions", () => {
  it.each([
    ['stake', 'Stake for subscription', 'Refundable deposit'],
    ['subscription_recover', 'Re-stake to resume subscription', 'Subscription resumed'],
    ['return_stake', 'Return Subscription staking', 'Deposit returned'],
    ['slash_stake', 'Slash stake for subscription', 'Deposit forfeited'],
  ])('%s: "%s" is called "%s"', (billing_reason, description, text) => {
    expect(descriptionText({ id: 'in_1', billing_reason, description }, texts)).toBe(text);
  });
});

describe('paying an invoice', () => {
  it('is offered when it could not be paid, except for overdraft protection', () => {
    expect(isPayable({ status: 'uncollectible', billing_reason: 'subscription_cycle' })).toBe(true);
    expect(isPayable({ status: 'uncollectible', billing_reason: 'overdraft_protection' })).toBe(false);
    expect(isPayable({ status: 'open', billing_reason: 'subscription_cycle' })).toBe(false);
  });
});

describe('a list without invoices', () => {
  it('shows the date of the next one while the subscription is active', () => {
    const end = Date.parse('2026-12-20T12:00:00Z') / 1000;
    expect(emptyText({ status: 'trialing', current_period_end: end }, texts)).toContain('Dec 20, 2026');
    const ending = { status: 'active', current_period_end: end, cancel_at_period_end: true } as const;
    expect(emptyText(ending, texts)).toBe('No invoices yet.');
    expect(emptyText({ status: 'canceled', current_period_end: end }, texts)).toBe('No invoices yet.');
    expect(emptyText(undefined, texts)).toBe('No invoices yet.');
  });
});

describe('invoices by day', () => {
  it('are grouped by day in their order', () => {
    const list = ['2026-01-02T09:00', '2026-01-02T08:00', '2026-01-01T08:00'].map((created_at) => ({ created_at }));
    const days = byDay(list, (iso) => iso.slice(0, 10));
    expect(days.map(([day, each]) => [day, each.length])).toEqual([
      ['2026-01-02', 2],
      ['2026-01-01', 1],
    ]);
  });
});
