import { expect, it } from 'vitest';
import type { InvoiceDetail, Refund } from '@/api/types';
import { mayRefund, refundable } from './refund';

const invoice = (changes: Partial<InvoiceDetail>) =>
  ({ status: 'paid', total: '500', amount_paid: '500', ...changes }) as InvoiceDetail;
const payment = (received: string, refunded: string) => ({
  paymentIntent: { id: 'pi_1', amount_received: received, amount_refunded: refunded },
});

it('what is left of a payment can be given back, of an invoice no more than was paid for it', () => {
  expect(refundable(invoice(payment('500', '0')), [])).toBe(500n);
  expect(refundable(invoice(payment('500', '120')), [])).toBe(380n);
  expect(refundable(invoice(payment('1500', '120')), [])).toBe(500n);
  expect(refundable(invoice(payment('500', '500')), [])).toBe(0n);
  expect(refundable(invoice({}), [])).toBe(0n);
  expect(refundable(invoice({ status: 'uncollectible', ...payment('500', '0') }), [])).toBe(0n);
});

it('what was given back of an invoice is not offered again, though its payment paid for others too', () => {
  const given = (status: Refund['status'], amount = '500') => ({ type: 'refund', status, amount }) as Refund;
  const one = invoice(payment('1500', '500'));
  expect(refundable(one, [given('succeeded')])).toBe(0n);
  expect(refundable(one, [given('pending', '200')])).toBe(300n);
  expect(refundable(one, [given('failed'), given('canceled')])).toBe(500n);
});

it('what credit paid is offered beside what the payment moved, and once', () => {
  const given = (type: Refund['type'], amount: string) => ({ type, status: 'succeeded', amount }) as Refund;
  const byCredit = invoice({ total: '0', amount_paid: '0', applied_credit: '300' });
  expect(refundable(byCredit, [])).toBe(300n);
  expect(refundable(byCredit, [given('credit', '120')])).toBe(180n);
  expect(refundable({ ...byCredit, status: 'void' }, [])).toBe(0n);
  const both = invoice({ applied_credit: '300', ...payment('500', '200') });
  expect(refundable(both, [given('refund', '200'), given('credit', '100')])).toBe(500n);
});

it('only those who run the store give money back', () => {
  const users = [{ role: 'owner' }, { role: 'admin' }, { role: '' }, null] as const;
  expect(users.map((user) => mayRefund(user))).toEqual([true, true, false, false]);
});
