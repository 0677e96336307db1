import type { InvoiceDetail, Refund, SessionUser } from '@/api/types';
import { formatAmount, toUnits } from '@/lib/amount';

/** Why money is given back, as the kit names it. */
export const REFUND_REASONS = ['requested_by_customer', 'duplicate', 'fraudulent', 'requested_by_admin'] as const;
export type RefundReason = (typeof REFUND_REASONS)[number];

/** What was given back already, or is on its way back, by a network or as credit with the store. */
const givenBack = (refunds: Refund[], kind: Refund['type']) =>
  refunds
    .filter(({ type, status }) => type === kind && status !== 'failed' && status !== 'canceled')
    .reduce((sum, { amount }) => sum + toUnits(amount), 0n);

/**
 * What of an invoice can still be given back, in base units: never more than is left of the payment it was paid with, which
 * may have paid others too, nor than is left of the invoice itself; and what credit with the store paid of it, which is credit again.
 */
export function refundable(invoice: InvoiceDetail, refunds: Refund[]): bigint {
  if (invoice.status !== 'paid') return 0n;
  const credit = toUnits(invoice.applied_credit ?? '0') - givenBack(refunds, 'credit');
  return atNetwork(invoice, refunds) + (credit > 0n ? credit : 0n);
}

function atNetwork(invoice: InvoiceDetail, refunds: Refund[]): bigint {
  const { paymentIntent: payment } = invoice;
  if (!payment) return 0n;
  const left = toUnits(payment.amount_received) - toUnits(payment.amount_refunded);
  const own = toUnits(invoice.amount_paid ?? invoice.total) - givenBack(refunds, 'refund');
  return left < own ? left : own;
}

/** Who may give money back. */
export const mayRefund = (user: Pick<SessionUser, 'role'> | null | undefined) =>
  user?.role === 'owner' || user?.role === 'admin';

/** Base units as somebody types them. */
export const typedAmount = (units: bigint, decimals: number) => formatAmount(units.toString(), decimals);
