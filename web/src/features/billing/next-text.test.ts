import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Subscription } from '@/api/types';
import { nextText } from './next-text';
import { texts } from './texts';

const currency = { id: 'pc_1', symbol: 'SKT', decimal: 0, maximum_precision: 0 };
const at = Date.UTC(2027, 0, 12) / 1000;
const renewal = (next_invoice: Subscription['next_invoice']) =>
  ({
    status: 'active',
    start_date: at - 86_400 * 30,
    current_period_start: at - 86_400 * 30,
    current_period_end: at,
    trial_start: null,
    trial_end: null,
    cancel_at_period_end: false,
    cancel_at: null,
    canceled_at: null,
    ended_at: null,
    cancelation_details: null,
    past_due_since: null,
    paused_at: null,
    next_invoice,
    paymentCurrency: currency,
  }) as unknown as Subscription;

beforeEach(() => {
  vi.useFakeTimers({ now: (at - 86_400) * 1000 });
});

afterEach(() => {
  vi.useRealTimers();
});

describe('the text of a renewal', () => {
  it('names the price', () => {
    const text = nextText(renewal({ total: '3', amount: '3', at }), texts.en);
    expect(text).toBe('Renews on Jan 12, 2027 for 3 SKT');
  });

  it('says what the account balance pays of it', () => {
    const text = nextText(renewal({ total: '3', amount: '1', at }), texts.en);
    expect(text).toBe('Renews on Jan 12, 2027 for 3 SKT, 2 SKT of it from the account balance');
  });
});
