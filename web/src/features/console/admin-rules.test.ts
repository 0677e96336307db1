import { describe, expect, it } from 'vitest';
import type { Subscription } from '@/api/types';
import { adminActions, cancelTimes, movableDeposit } from './admin-rules';

const NOW = Math.floor(Date.now() / 1000);
const END = NOW + 86_400;
const deposit = (status: string, amount = '5') => ({ amount, status, tx_hash: '', return_at: null });
const subscription = (changes: object = {}) =>
  ({
    status: 'active',
    on_hold: false,
    cancel_at_period_end: false,
    cancel_at: null,
    current_period_end: END,
    cancelation_details: null,
    staking: null,
    test_clock: null,
    ...changes,
  }) as Subscription;
const ending = { cancel_at_period_end: true, cancel_at: END };

describe('an administrator', () => {
  it.each([
    ['an active one', {}, ['pause', 'cancel']],
    ['one with a deposit', { staking: deposit('held') }, ['pause', 'forfeitDeposit', 'cancel']],
    ['one on hold', { on_hold: true }, ['resumeBilling', 'pause', 'cancel']],
    ['one with unbilled periods', { on_hold: true, on_hold_reason: 'unbilled_periods' }, ['resumeBilling', 'cancel']],
    ['a paused one', { status: 'paused' }, ['resume', 'cancel']],
    ['one that is past due', { status: 'past_due' }, ['pause', 'cancel']],
    ['one that ends with its period', ending, ['pause', 'recover', 'cancel']],
    ['one that ends at a time', { cancel_at: END + 5 }, ['pause', 'cancel']],
    [
      'one that ends because of unpaid invoices',
      { ...ending, cancelation_details: { reason: 'payment_failed' } },
      ['pause', 'cancel'],
    ],
    ['one that has ended', { status: 'canceled', staking: deposit('returned') }, []],
    [
      'one whose deposit waits',
      { status: 'canceled', staking: deposit('waiting') },
      ['returnDeposit', 'forfeitDeposit'],
    ],
  ])('can do with %s: %j', (_, changes, actions) => {
    expect(adminActions(subscription(changes))).toEqual(actions);
  });

  it('moves only deposits with the status held or waiting', () => {
    const moved = ['held', 'waiting', 'slashing', 'returned'].map((status) =>
      movableDeposit(subscription({ staking: deposit(status) })),
    );
    expect(moved).toEqual([5n, 5n, 0n, 0n]);
    expect(movableDeposit(subscription())).toBe(0n);
  });

  it('can wait for the end of a period only if there is one', () => {
    expect(cancelTimes(subscription())).toEqual(['current_period_end', 'now', 'custom']);
    expect(cancelTimes(subscription({ status: 'trialing' }))).toEqual(['now', 'custom']);
    expect(cancelTimes(subscription({ status: 'paused', current_period_end: NOW - 5 }))).toEqual(['now', 'custom']);
    const clock = { id: 'clock_1', now: END + 5 };
    expect(cancelTimes(subscription({ test_clock: clock }))).toEqual(['now', 'custom']);
  });
});
