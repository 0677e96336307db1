import { retrieve } from './calls';
import { isComplete, paymentError } from './rules/view';
import type { Checkout, PaymentError } from './wire';

/** SPEC.md 9: every 2 s, up to 3 minutes. */
export const POLL_MS = 2000;
export const PATIENCE_MS = 180_000;

export type Outcome =
  | { name: 'completed'; checkout: Checkout }
  | { name: 'failed'; error: PaymentError }
  | { name: 'timeout' };

/**
 * Asks the server until the payment is settled, refused or not seen within the patience. An answer that gets lost
 * is asked for again. `checkNow` is for an event that says the session has changed.
 */
export function watchSettlement(
  id: string,
  report: (outcome: Outcome) => void,
): { stop: () => void; checkNow: () => void } {
  const began = Date.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;
  let asking = false;
  let wasProcessing = false;

  const end = (outcome: Outcome) => {
    over = true;
    clearTimeout(timer);
    report(outcome);
  };

  const check = async () => {
    if (over || asking) return;
    clearTimeout(timer);
    asking = true;
    const checkout = await retrieve(id).catch(() => null);
    asking = false;
    if (over) return;
    if (checkout && isComplete(checkout.checkoutSession)) return end({ name: 'completed', checkout });
    const error = checkout && (paymentError(checkout.paymentIntent) ?? lateDecline(checkout));
    if (error) return end({ name: 'failed', error });
    if (Date.now() - began >= PATIENCE_MS) return end({ name: 'timeout' });
    timer = setTimeout(check, POLL_MS);
  };

  /** A card that was being processed and now wants another one has been declined. */
  const lateDecline = ({ paymentIntent: intent }: Checkout): PaymentError | null => {
    if (intent?.status === 'processing') wasProcessing = true;
    if (!wasProcessing || intent?.status !== 'requires_payment_method') return null;
    return intent.last_payment_error ?? null;
  };

  timer = setTimeout(check, 0);
  return {
    checkNow: check,
    stop: () => {
      over = true;
      clearTimeout(timer);
    },
  };
}
