import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { retrieve } from './calls';
import { type Outcome, watchSettlement } from './settlement';
import type { Checkout, PaymentIntent } from './types';

vi.mock('./calls', () => ({ retrieve: vi.fn() }));
const retrieveMock = vi.mocked(retrieve);
const checkoutWith = (status: string, intent?: Partial<PaymentIntent>) =>
  ({
    checkoutSession: { id: 'cs_1', status, payment_status: status === 'complete' ? 'paid' : 'unpaid' },
    paymentIntent: intent ? { id: 'pi_1', ...intent } : null,
    paymentMethods: [],
  }) as unknown as Checkout;
let outcomes: Outcome['name'][] = [];
const watch = () => watchSettlement('cs_1', (outcome) => outcomes.push(outcome.name));

beforeEach(() => {
  vi.useFakeTimers();
  outcomes = [];
  retrieveMock.mockReset().mockResolvedValue(checkoutWith('open'));
});
afterEach(() => vi.useRealTimers());

describe('polling a payment', () => {
  test('runs every two seconds and stops after three minutes', async () => {
    watch();
    await vi.advanceTimersByTimeAsync(179_999);
    expect(retrieveMock).toHaveBeenCalledTimes(90);
    expect(outcomes).toEqual([]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(outcomes).toEqual(['timeout']);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(retrieveMock).toHaveBeenCalledTimes(91);
  });

  test('ends once with the completed session', async () => {
    retrieveMock.mockResolvedValueOnce(checkoutWith('open')).mockResolvedValue(checkoutWith('complete'));
    const { checkNow } = watch();
    await vi.advanceTimersByTimeAsync(0);
    checkNow();
    checkNow();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(outcomes).toEqual(['completed']);
    expect(retrieveMock).toHaveBeenCalledTimes(2);
  });

  test('ends if the payment requires action and has an error', async () => {
    retrieveMock.mockResolvedValue(
      checkoutWith('open', { status: 'requires_action', last_payment_error: { message: 'no' } }),
    );
    watch();
    await vi.advanceTimersByTimeAsync(0);
    expect(outcomes).toEqual(['failed']);
  });

  test('ignores the error of an earlier attempt', async () => {
    retrieveMock.mockResolvedValue(
      checkoutWith('open', { status: 'requires_payment_method', last_payment_error: { message: 'old' } }),
    );
    watch();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(outcomes).toEqual([]);
  });

  test('ends if a processing card is declined', async () => {
    retrieveMock
      .mockResolvedValueOnce(checkoutWith('open', { status: 'processing' }))
      .mockResolvedValue(
        checkoutWith('open', { status: 'requires_payment_method', last_payment_error: { message: 'late' } }),
      );
    watch();
    await vi.advanceTimersByTimeAsync(2000);
    expect(outcomes).toEqual(['failed']);
  });

  test('retries after a network error', async () => {
    retrieveMock.mockRejectedValueOnce(new TypeError('offline')).mockResolvedValue(checkoutWith('complete'));
    watch();
    await vi.advanceTimersByTimeAsync(2000);
    expect(outcomes).toEqual(['completed']);
  });
});
