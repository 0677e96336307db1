import type { PaymentIntent } from '@/api/types';

const STATES = [
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
  'processing',
  'requires_capture',
  'canceled',
  'succeeded',
] as const;

export type PaymentState = (typeof STATES)[number] | 'failed';

type Attempt = Pick<PaymentIntent, 'status' | 'invoice_status'>;

/** Whether the payment waits for the customer; false once its invoice is settled. */
const WAITING: readonly string[] = ['requires_payment_method', 'requires_confirmation', 'requires_action'];

/** The state of a payment for its customer: an attempt on an invoice that is paid or void by now has failed for good. */
export function paymentState({ status, invoice_status: invoice }: Attempt): PaymentState {
  const isSettled = invoice === 'paid' || invoice === 'void';
  if (isSettled && WAITING.includes(status)) return 'failed';
  return STATES.find((each) => each === status) ?? 'processing';
}

/** Whether the customer has to act: the bank requires a confirmation, or an overdue invoice needs another method. */
export function needsAction(payment: Attempt): boolean {
  const state = paymentState(payment);
  return (
    state === 'requires_action' || (state === 'requires_payment_method' && payment.invoice_status === 'uncollectible')
  );
}
