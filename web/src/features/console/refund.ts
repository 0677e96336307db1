/** The reasons of a refund, by the names of the payment kit. */
export const REFUND_REASONS = ['requested_by_customer', 'duplicate', 'fraudulent', 'requested_by_admin'] as const;
export type RefundReason = (typeof REFUND_REASONS)[number];
