import { describe, expect, it } from 'vitest';
import type { Subscription } from '@/api/types';
import { actsForStore, cancelTimes, movableStake, officeActions } from './office-rules';

const NOW = Math.floor(Date.now() / 1000);
const END = NOW + 86_400;
const stake = (status: string, amount = '5') => ({ amount, status, tx_hash: '', return_at: null });
const subscription = (changes: object = {}) =>
  ({
    status: 'active',
    parked: false,
    cancel_at_period_end: false,
    cancel_at: null,
    current_period_end: END,
    cancelation_details: null,
    staking: null,
    test_clock: null,
    ...changes,
  }) as Subscription;
const ending = { cancel_at_period_end: true, cancel_at: END };

describe('the store', () => {
  it.each([
    ['an active one', {}, ['pause', 'cancel']],
    ['one with a stake', { staking: stake('held') }, ['pause', 'slash', 'cancel']],
    ['one that is parked', { parked: true }, ['unpark', 'pause', 'cancel']],
    ['a paused one', { status: 'paused' }, ['resume', 'cancel']],
    ['one that is past due', { status: 'past_due' }, ['pause', 'cancel']],
    ['one that ends with its period', ending, ['pause', 'recover', 'cancel']],
    ['one that ends at a time', { cancel_at: END + 5 }, ['pause', 'cancel']],
    [
      'one that ends for want of payment',
      { ...ending, cancelation_details: { reason: 'payment_failed' } },
      ['pause', 'cancel'],
    ],
    ['one that has ended', { status: 'canceled', staking: stake('returned') }, []],
    ['one whose stake waits', { status: 'canceled', staking: stake('waiting') }, ['returnStake', 'slash']],
  ])('can do with %s: %j', (_, changes, actions) => {
    expect(officeActions(subscription(changes))).toEqual(actions);
  });

  it('is whoever runs it, for what belongs to somebody else', () => {
    expect(actsForStore({ role: 'owner', did: 'z1a' }, 'z1b')).toBe(true);
    expect(actsForStore({ role: 'admin', did: 'z1a' }, 'z1b')).toBe(true);
    expect(actsForStore({ role: 'owner', did: 'z1a' }, 'z1a')).toBe(false);
    expect(actsForStore({ role: '', did: 'z1a' }, 'z1b')).toBe(false);
    expect(actsForStore(null, 'z1b')).toBe(false);
  });

  it('moves a stake that is held or waits, and no other', () => {
    const moved = ['held', 'waiting', 'slashing', 'returned'].map((status) =>
      movableStake(subscription({ staking: stake(status) })),
    );
    expect(moved).toEqual([5n, 5n, 0n, 0n]);
    expect(movableStake(subscription())).toBe(0n);
  });

  it('waits for the end of a period only where there is one to wait for', () => {
    expect(cancelTimes(subscription())).toEqual(['current_period_end', 'now', 'custom']);
    expect(cancelTimes(subscription({ status: 'trialing' }))).toEqual(['now', 'custom']);
    expect(cancelTimes(subscription({ status: 'paused', current_period_end: NOW - 5 }))).toEqual(['now', 'custom']);
    const clock = { id: 'clock_1', now: END + 5 };
    expect(cancelTimes(subscription({ test_clock: clock }))).toEqual(['now', 'custom']);
  });
});
