import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { retrieve } from './calls';
import { type Outcome, watchSettlement } from './settlement';
import type { Checkout, PaymentIntent } from './wire';

vi.mock('./calls', () => ({ retrieve: vi.fn() }));
const asked = vi.mocked(retrieve);
const answer = (status: string, intent?: Partial<PaymentIntent>) =>
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
  asked.mockReset().mockResolvedValue(answer('open'));
});
afterEach(() => vi.useRealTimers());

describe('watching a payment', () => {
  test('asks every two seconds and gives up after three minutes', async () => {
    watch();
    await vi.advanceTimersByTimeAsync(179_999);
    expect(asked).toHaveBeenCalledTimes(90);
    expect(outcomes).toEqual([]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(outcomes).toEqual(['timeout']);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveBeenCalledTimes(91);
  });

  test('ends with the completed session, once', async () => {
    asked.mockResolvedValueOnce(answer('open')).mockResolvedValue(answer('complete'));
    const { checkNow } = watch();
    await vi.advanceTimersByTimeAsync(0);
    checkNow();
    checkNow();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(outcomes).toEqual(['completed']);
    expect(asked).toHaveBeenCalledTimes(2);
  });

  test('ends when the payment needs the buyer and says why', async () => {
    asked.mockResolvedValue(answer('open', { status: 'requires_action', last_payment_error: { message: 'no' } }));
    watch();
    await vi.advanceTimersByTimeAsync(0);
    expect(outcomes).toEqual(['failed']);
  });

  test('does not end by an error of an earlier attempt', async () => {
    asked.mockResolvedValue(
      answer('open', { status: 'requires_payment_method', last_payment_error: { message: 'old' } }),
    );
    watch();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(outcomes).toEqual([]);
  });

  test('ends when a card that was processing is declined', async () => {
    asked
      .mockResolvedValueOnce(answer('open', { status: 'processing' }))
      .mockResolvedValue(
        answer('open', { status: 'requires_payment_method', last_payment_error: { message: 'late' } }),
      );
    watch();
    await vi.advanceTimersByTimeAsync(2000);
    expect(outcomes).toEqual(['failed']);
  });

  test('a lost answer is asked for again', async () => {
    asked.mockRejectedValueOnce(new TypeError('offline')).mockResolvedValue(answer('complete'));
    watch();
    await vi.advanceTimersByTimeAsync(2000);
    expect(outcomes).toEqual(['completed']);
  });
});
