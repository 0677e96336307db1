import { describe, expect, it } from 'vitest';
import type { Subscription } from '@/api/types';
import { nextText } from './next-text';
import { texts } from './texts';

const DAY = 86_400;
const NOW = Date.parse('2026-11-20T12:00:00Z') / 1000;

const subscription = (changes: Partial<Subscription> = {}, interval = 'month') =>
  ({
    status: 'active',
    start_date: NOW - DAY,
    billing_cycle_anchor: NOW - DAY,
    current_period_start: NOW - DAY,
    current_period_end: NOW + DAY,
    trial_start: null,
    trial_end: null,
    cancel_at_period_end: false,
    cancel_at: null,
    canceled_at: null,
    past_due_since: null,
    next_invoice: { total: '3', amount: '3', at: NOW + DAY },
    items: [
      {
        quantity: 1,
        price: { id: 'price_1', currency_id: 'pc_1', unit_amount: '3', recurring: { interval, interval_count: 1 } },
      },
    ],
    paymentCurrency: { id: 'pc_1', symbol: 'SKT', decimal: 0 },
    test_clock: { id: 'clock_1', now: NOW },
    ...changes,
  }) as unknown as Subscription;

describe('the next event of a subscription', () => {
  it('at the end of a trial names the price with its interval', () => {
    const trial = { status: 'trialing', trial_start: NOW - DAY, trial_end: NOW + DAY } as const;
    expect(nextText(subscription(trial), texts.en)).toBe('Free trial until Nov 21, 2026, then 3 SKT / month');
    expect(nextText(subscription(trial), texts.zh)).toBe('免费试用至 2026年11月21日，之后 3 SKT / 月');
  });

  it('has a time if the plan renews hourly', () => {
    expect(nextText(subscription({}, 'hour'), texts.en)).toMatch(
      /^Renews on Nov 21, 2026, \d+:00\s[AP]M \S+ for 3 SKT$/,
    );
    expect(nextText(subscription({}, 'day'), texts.en)).toBe('Renews on Nov 21, 2026 for 3 SKT');
  });

  it('says what the account balance pays of a renewal', () => {
    const renewal = subscription({ next_invoice: { total: '3', amount: '1', at: NOW + DAY } });
    expect(nextText(renewal, texts.en)).toBe('Renews on Nov 21, 2026 for 3 SKT, 2 SKT of it from the account balance');
    expect(nextText(renewal, texts.zh)).toBe('将于 2026年11月21日续费 3 SKT，其中账户余额抵扣 2 SKT');
  });

  it('says that the account balance pays all of a renewal', () => {
    const renewal = subscription({ next_invoice: { total: '3', amount: '0', at: NOW + DAY } });
    expect(nextText(renewal, texts.en)).toBe('Renews on Nov 21, 2026 for 3 SKT, paid from the account balance');
    expect(nextText(renewal, texts.zh)).toBe('将于 2026年11月21日续费 3 SKT，由账户余额支付');
  });

  it('of a pause does not address the reader, who may be an administrator', () => {
    expect(nextText(subscription({ status: 'paused', next_invoice: null }), texts.en)).toBe(
      'Paused. Not billed until resumed.',
    );
  });
});
