import { POLL_MS, POLL_TIMEOUT_MS } from '@/lib/polling';
import { retrieve } from './calls';
import { isComplete, paymentError } from './rules/view';
import type { Checkout, PaymentError } from './types';

export type Outcome =
  | { name: 'completed'; checkout: Checkout }
  | { name: 'failed'; error: PaymentError }
  | { name: 'timeout' };

/**
 * Polls the server until the payment is settled or declined, or the timeout is reached. Failed requests are retried.
 * `checkNow` polls at once after a relay event.
 */
export function watchSettlement(
  id: string,
  report: (outcome: Outcome) => void,
): { stop: () => void; checkNow: () => void } {
  const startedAt = Date.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  let isChecking = false;
  let wasProcessing = false;

  const end = (outcome: Outcome) => {
    ended = true;
    clearTimeout(timer);
    report(outcome);
  };

  const check = async () => {
    if (ended || isChecking) return;
    clearTimeout(timer);
    isChecking = true;
    const checkout = await retrieve(id).catch(() => null);
    isChecking = false;
    if (ended) return;
    if (checkout && isComplete(checkout.checkoutSession)) return end({ name: 'completed', checkout });
    const error = checkout && (paymentError(checkout.paymentIntent) ?? lateDecline(checkout));
    if (error) return end({ name: 'failed', error });
    if (Date.now() - startedAt >= POLL_TIMEOUT_MS) return end({ name: 'timeout' });
    timer = setTimeout(check, POLL_MS);
  };

  /** A processing card that now needs another payment method was declined. */
  const lateDecline = ({ paymentIntent: intent }: Checkout): PaymentError | null => {
    if (intent?.status === 'processing') wasProcessing = true;
    if (!wasProcessing || intent?.status !== 'requires_payment_method') return null;
    return intent.last_payment_error ?? null;
  };

  timer = setTimeout(check, 0);
  return {
    checkNow: check,
    stop: () => {
      ended = true;
      clearTimeout(timer);
    },
  };
}
