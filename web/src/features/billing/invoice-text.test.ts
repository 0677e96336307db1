import { describe, expect, it } from 'vitest';
import type { InvoiceDetail } from '@/api/types';
import {
  byDay,
  descriptionText,
  emptyText,
  isPayable,
  paidByText,
  reasonText,
  refundParts,
  refundState,
  refundTexts,
} from './invoice-text';
import { texts as portalTexts } from './texts';

const texts = portalTexts.en;

describe('the texts of an invoice', () => {
  it('name the billing reason and leave an unknown one as it is', () => {
    expect(reasonText('stake', texts)).toBe('Refundable deposit');
    expect(reasonText('brand_new', texts)).toBe('brand_new');
  });
});

describe('the payment method of an invoice', () => {
  const invoice = (...sources: string[]) =>
    ({
      payments: sources.map((source) => ({ source })),
      paymentMethod: { type: 'arcblock', name: 'ArcBlock' },
    }) as unknown as InvoiceDetail;

  it('is the balance or the deposit if these paid all of it', () => {
    expect(paidByText(invoice('balance'), texts)).toBe('Account balance');
    expect(paidByText(invoice('stake', 'balance', 'stake'), texts)).toBe('Refundable deposit + Account balance');
    expect(paidByText(invoice('balance', 'network'), texts)).toBe('Wallet (ArcBlock)');
    expect(paidByText(invoice(), texts)).toBe('Wallet (ArcBlock)');
    expect(paidByText({ payments: [], paymentMethod: null }, texts)).toBe(null);
  });
});

describe('the refunds of an invoice', () => {
  const invoice = (pending: string, failed: string) => ({
    amount_paid: '5',
    amount_refunded: '5',
    amount_refund_pending: pending,
    amount_refund_failed: failed,
  });

  it('are failed or pending until the money is back', () => {
    expect(refundState(invoice('3', '2'))).toBe('failed');
    expect(refundState(invoice('3', '0'))).toBe('pending');
    expect(refundState(invoice('0', '0'))).toBe('full');
    expect(refundState({ ...invoice('0', '0'), amount_paid: '6' })).toBe('partial');
    expect(refundState({ ...invoice('0', '0'), amount_refunded: '0' })).toBe(null);
  });

  it('separate the amounts that are back, pending and failed', () => {
    expect(refundParts(invoice('1', '2'))).toEqual({ back: 2n, pending: 1n, failed: 2n });
    expect(refundParts({ amount_refunded: '5' })).toEqual({ back: 5n, pending: 0n, failed: 0n });
  });

  it.each([
    ['0', invoice('0', '0'), []],
    ['5', invoice('0', '0'), ['Refund of $5']],
    ['2', invoice('0', '5'), ['Refund of $2 (failed)']],
    ['2', invoice('5', '0'), ['Refund of $2 (pending)']],
    ['5', invoice('1', '2'), ['Refund of $2', 'Refund of $1 (pending)', 'Refund of $2 (failed)']],
    ['3', invoice('1', '2'), ['Refund of $3']],
    ['3', undefined, ['Refund of $3']],
  ])('%#: are named with their state on payments and credit notes', (amount, of, expected) => {
    expect(refundTexts(amount, of, texts, (units) => `$${units}`)).toEqual(expected);
  });
});

describe('a description', () => {
  const names = { name: 'Chorus', name_zh: '合唱' };
  it.each([
    ['product', 'Chorus', '合唱'],
    ['remaining_time', 'Remaining time on Chorus', '合唱（剩余周期）'],
    ['unused_time', 'Unused time on Chorus', '合唱（未使用部分）'],
    ['deposit', 'Refundable deposit', '押金（可退）'],
    ['deposit_plan_change', 'Deposit for the plan change', '更换方案的押金'],
    ['deposit_payment_change', 'Deposit for the new payment method', '更换支付方式的押金'],
    ['deposit_resume', 'Refundable deposit', '押金（可退）'],
    ['deposit_overdraft', 'Refundable deposit for overdraft protection', '透支保护押金'],
    ['overdraft_fee', 'Overdraft protection fee', '透支保护费'],
    ['deposit_forfeited', 'Deposit used', '押金抵扣'],
    ['deposit_returned', 'Deposit returned', '退还押金'],
    ['deposit_developer', 'Refundable deposit', '押金（可退）'],
    ['deposit_developer_returned', 'Deposit returned', '退还押金'],
    ['top_up', 'Top-up', '充值'],
  ])('of the code %s is "%s" and "%s"', (description_code, en, zh) => {
    const described = { description: 'In English', description_code, description_params: names };
    expect(descriptionText(described, portalTexts.en)).toBe(en);
    expect(descriptionText(described, portalTexts.zh)).toBe(zh);
  });

  it('of several products names the first one: English counts the others, Chinese counts all', () => {
    const description_params = { ...names, others: '2' };
    const described = { description: 'In English', description_code: 'product', description_params };
    expect(descriptionText(described, portalTexts.en)).toBe('Chorus and 2 more');
    expect(descriptionText(described, portalTexts.zh)).toBe('合唱等 3 件商品');
    const rest = { ...described, description_code: 'remaining_time' };
    expect(descriptionText(rest, portalTexts.en)).toBe('Remaining time on Chorus and 2 more');
  });

  it('of an unknown code stays as the server sent it, and a name without Chinese text is the English one', () => {
    expect(descriptionText({ description: 'Brand new', description_code: 'brand_new' }, portalTexts.zh)).toBe(
      'Brand new',
    );
    const english = { description: 'Chorus', description_code: 'product', description_params: { name: 'Chorus' } };
    expect(descriptionText(english, portalTexts.zh)).toBe('Chorus');
    expect(descriptionText({ description: null }, portalTexts.en)).toBe('');
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
