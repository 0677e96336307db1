import type { InvoiceDetail, SessionUser } from '@/api/types';
import { formatAmount, parseDecimal, toUnits } from '@/lib/amount';

/** Why money is given back, as the kit names it. */
export const REFUND_REASONS = ['requested_by_customer', 'duplicate', 'fraudulent', 'requested_by_admin'] as const;
export type RefundReason = (typeof REFUND_REASONS)[number];

/** What of an invoice can still be given back, in base units: never more than is left of the payment it was paid with. */
export function refundable(invoice: InvoiceDetail): bigint {
  const { paymentIntent: payment } = invoice;
  if (invoice.status !== 'paid' || !payment) return 0n;
  const left = toUnits(payment.amount_received) - toUnits(payment.amount_refunded);
  const paid = toUnits(invoice.amount_paid ?? invoice.total);
  return left < paid ? left : paid;
}

/** Who may give money back. */
export const mayRefund = (user: Pick<SessionUser, 'role'> | null | undefined) =>
  user?.role === 'owner' || user?.role === 'admin';

export type AmountFault = 'refund.amountWrong' | 'refund.amountMost';

/** What is wrong with a typed amount; null when it can be given back. */
export function amountFault(typed: string, decimals: number, most: bigint): AmountFault | null {
  const amount = toUnits(parseDecimal(typed, decimals));
  if (amount <= 0n) return 'refund.amountWrong';
  return amount > most ? 'refund.amountMost' : null;
}

/** Base units as somebody types them. */
export const typedAmount = (units: bigint, decimals: number) => formatAmount(units.toString(), decimals);
