import { describe, expect, it } from 'vitest';
import type { InvoiceDetail } from '@/api/types';
import { totalsOf } from './invoice-lines';
import { texts } from './texts';

const totals = (invoice: Partial<InvoiceDetail>) =>
  totalsOf({ invoice: invoice as InvoiceDetail, money: (amount = '0') => amount }, texts.en);

describe('the totals of an invoice', () => {
  it('do not name an amount of zero if the balance paid all of it', () => {
    expect(totals({ status: 'paid', total: '5', amount_paid: '5', applied_credit: '5' })).toEqual([
      ['Total', '5'],
      ['Paid from account balance', '−5'],
    ]);
  });

  it('name what was paid besides the balance', () => {
    expect(totals({ status: 'paid', total: '5', amount_paid: '5', applied_credit: '2' })).toEqual([
      ['Total', '5'],
      ['Paid from account balance', '−2'],
      ['Amount paid', '3'],
    ]);
  });

  it('subtract what was paid if an amount is still due', () => {
    expect(totals({ status: 'uncollectible', total: '5', amount_paid: '2', amount_remaining: '3' })).toEqual([
      ['Total', '5'],
      ['Amount paid', '−2'],
      ['Amount due', '3'],
    ]);
  });

  it('name the paid amount of an invoice over nothing', () => {
    expect(totals({ status: 'paid', total: '0', amount_paid: '0' })).toEqual([
      ['Total', '0'],
      ['Amount paid', '0'],
    ]);
  });
});
