import { describe, expect, it } from 'vitest';
import type { Subscription } from '@/api/types';
import { actionsOf, byUrgency, cardProblem, nextEvent, timeline, trialEndsSoon } from './subscription-rules';

const DAY = 86_400;
const START = 1_000 * DAY;
const NOW = START + 70 * DAY;

const subscription = (changes: Partial<Subscription> = {}) =>
  ({
    id: 'sub_1',
    status: 'active',
    start_date: START,
    billing_cycle_anchor: START,
    current_period_start: START + 60 * DAY,
    current_period_end: START + 90 * DAY,
    trial_start: null,
    trial_end: null,
    cancel_at_period_end: false,
    cancel_at: null,
    canceled_at: null,
    ended_at: null,
    cancelation_details: null,
    past_due_since: null,
    paused_at: null,
    next_invoice: { total: '1', amount: '1', at: START + 90 * DAY },
    mandate: null,
    ...changes,
  }) as Subscription;

const END = START + 90 * DAY;
const ending = { cancel_at_period_end: true, cancel_at: END, canceled_at: NOW - DAY };

const account = { mandate: { type: 'delegation', limit: '1', brand: null, last4: null } };

describe('what a customer can do', () => {
  it.each([
    ['active', {}, ['changePlan', 'changePayment', 'cancel']],
    ['a trial', { status: 'trialing' }, ['changePlan', 'changePayment', 'cancel']],
    ['ending at the end of its period', ending, ['resume']],
    ['a trial with a scheduled end', { ...ending, status: 'trialing' }, ['resume']],
    [
      'ending because of unpaid invoices',
      { ...ending, cancelation_details: { reason: 'payment_failed', feedback: null, comment: null } },
      [],
    ],
    ['ending at a time the store has set', { cancel_at: END + DAY }, ['changePayment']],
    [
      'ending because the store decided so',
      { ...ending, cancelation_details: { reason: 'cancellation_by_store', feedback: null, comment: null } },
      [],
    ],
    ['past due', { status: 'past_due' }, ['pay', 'changePayment', 'cancel']],
    ['past due and ending', { ...ending, status: 'past_due' }, ['pay', 'changePayment', 'resume']],
    ['past due until a time of the store', { cancel_at: END + DAY, status: 'past_due' }, ['pay', 'changePayment']],
    ['paid by an account', account, ['changePlan', 'changePayment', 'addFunds', 'overdraft', 'cancel']],
    [
      'past due, and paid by an account',
      { ...account, status: 'past_due' },
      ['pay', 'addFunds', 'overdraft', 'changePayment', 'cancel'],
    ],
    ['paid by a card', { mandate: { ...account.mandate, type: 'card' } }, ['changePlan', 'changePayment', 'cancel']],
    ['ending, and paid by an account', { ...ending, ...account }, ['resume']],
    ['ended, and paid by an account', { ...account, status: 'canceled' }, []],
    ['paused', { status: 'paused' }, ['cancel']],
    ['paused, with a scheduled end', { ...ending, status: 'paused' }, []],
    ['ended', { status: 'canceled' }, []],
  ] as [string, Partial<Subscription>, string[]][])('%s', (_, changes, actions) => {
    expect(actionsOf(subscription(changes))).toEqual(actions);
  });
});

describe('the card that pays', () => {
  const card = (exp_year: number, exp_month: number) => ({
    mandate: { type: 'card' as const, limit: null, brand: 'visa', last4: '4242', exp_month, exp_year },
  });
  const now = Date.UTC(2026, 10, 20) / 1000;
  const next = (iso: string) => ({ next_invoice: { total: '1', amount: '1', at: Date.parse(iso) / 1000 } });
  const december = next('2026-12-15T00:00:00Z');
  it.each([
    ['valid for long', { ...card(2029, 12), ...december }, null],
    ['valid in the month of the next payment', { ...card(2026, 12), ...december }, null],
    ['valid until the month before', { ...card(2026, 11), ...december }, 'expiring'],
    ['valid until just before the next payment', { ...card(2026, 12), ...next('2027-01-01T00:00:00Z') }, 'expiring'],
    ['expired last month', { ...card(2026, 10), ...december }, 'expired'],
    ['expired, of a trial', { ...card(2026, 10), ...december, status: 'trialing' }, 'expired'],
    ['expired, and a payment is past due', { ...card(2026, 10), next_invoice: null, status: 'past_due' }, 'expired'],
    ['expired, past due and ending', { ...card(2026, 10), ...ending, status: 'past_due' }, 'expired'],
    ['expired, and the end is set', { ...card(2026, 10), ...ending, next_invoice: null }, null],
    ['expired, and it renews before the set end', { ...card(2026, 10), ...december, cancel_at: END * 2 }, 'expired'],
    [
      'valid until the month before a renewal before the end',
      { ...card(2026, 11), ...december, cancel_at: END * 2 },
      'expiring',
    ],
    [
      'valid until the month before, and nothing is due',
      { ...card(2026, 11), next_invoice: { ...december.next_invoice, amount: '0' } },
      null,
    ],
    [
      'expired, and nothing is due next',
      { ...card(2026, 10), next_invoice: { ...december.next_invoice, amount: '0' } },
      'expired',
    ],
    ['expired, and it is paused', { ...card(2026, 10), status: 'paused' }, null],
    ['expired, of one that has ended', { ...card(2026, 10), status: 'canceled' }, null],
    ['without a date', { mandate: { ...card(2026, 10).mandate, exp_month: null, exp_year: null } }, null],
    ['no card at all', { mandate: null }, null],
  ] as [string, Partial<Subscription>, string | null][])('%s', (_, changes, problem) => {
    expect(cardProblem(subscription(changes), now)).toBe(problem);
  });

  it('is checked against the end of the period without a next invoice', () => {
    const until = { next_invoice: null, current_period_end: Date.UTC(2026, 11, 1) / 1000 };
    expect(cardProblem(subscription({ ...card(2026, 11), ...until }), now)).toBe('expiring');
    expect(cardProblem(subscription({ ...card(2026, 12), ...until }), now)).toBe(null);
  });
});

const names = (of: Subscription, now = NOW) =>
  timeline(of, now).map(({ name, coming }) => (coming ? `${name}…` : name));

describe('the timeline', () => {
  it.each([
    ['one that renews', {}, ['started', 'renewed', 'renews…']],
    [
      'one in its first period',
      { current_period_start: START, current_period_end: START + 30 * DAY },
      ['started', 'renews…'],
    ],
    ['one whose end is set', { ...ending, next_invoice: null }, ['started', 'renewed', 'canceled', 'willEnd…']],
    [
      'one whose plan was changed to another interval',
      { billing_cycle_anchor: START + 60 * DAY },
      ['started', 'cycleStarted', 'renews…'],
    ],
    [
      'one that renewed after its plan was changed to another interval',
      { billing_cycle_anchor: START + 30 * DAY },
      ['started', 'renewed', 'renews…'],
    ],
    ['one past due', { status: 'past_due', past_due_since: NOW - DAY, next_invoice: null }, ['started', 'pastDue']],
    ['one that is paused', { status: 'paused', paused_at: NOW - DAY }, ['started', 'renewed', 'paused']],
    [
      'one that has ended at the end of its period',
      { ...ending, status: 'canceled', ended_at: NOW, canceled_at: NOW - 5 * DAY },
      ['started', 'renewed', 'canceled', 'ended'],
    ],
    [
      'one that has ended with its trial',
      {
        ...ending,
        status: 'canceled',
        trial_start: START,
        trial_end: NOW,
        current_period_start: START,
        ended_at: NOW,
      },
      ['trialStarted', 'canceled', 'trialEnded', 'ended'],
    ],
    [
      'a canceled trial ends at once, without the end of the trial',
      {
        status: 'canceled',
        trial_start: START,
        trial_end: END,
        current_period_start: START,
        canceled_at: NOW,
        ended_at: NOW,
      },
      ['trialStarted', 'ended'],
    ],
    [
      'a trial is followed by the paid subscription',
      { status: 'trialing', trial_start: START, trial_end: END, current_period_start: START },
      ['trialStarted', 'trialEnds…', 'renews…'],
    ],
    [
      'after a trial, the first paid period is not a renewal',
      { trial_start: START, trial_end: START + 60 * DAY },
      ['trialStarted', 'trialEnded', 'renews…'],
    ],
    [
      'a trial with a scheduled end shows that once',
      { ...ending, status: 'trialing', trial_start: START, trial_end: END, current_period_start: START },
      ['trialStarted', 'canceled', 'willEnd…'],
    ],
  ] as [string, Partial<Subscription>, string[]][])('%s', (_, changes, expected) => {
    expect(names(subscription(changes))).toEqual(expected);
  });

  it('points at the next event, or else at the last one', () => {
    expect(nextEvent(timeline(subscription(), NOW))?.name).toBe('renews');
    const ended = subscription({ status: 'canceled', canceled_at: NOW, ended_at: NOW });
    expect(nextEvent(timeline(ended, NOW))?.name).toBe('ended');
  });
});

describe('the order of subscriptions', () => {
  it('starts with past due and ends with ended ones', () => {
    const list = [
      subscription({ id: 'ended', status: 'canceled' }),
      subscription({ id: 'ending', ...ending }),
      subscription({ id: 'older' }),
      subscription({ id: 'newer', start_date: START + 1 }),
      subscription({ id: 'due', status: 'past_due' }),
    ];
    expect(byUrgency(list).map(({ id }) => id)).toEqual(['due', 'newer', 'older', 'ending', 'ended']);
  });

  it('warns three days before a trial ends, unless it was canceled', () => {
    const trial = subscription({ status: 'trialing', trial_end: END });
    expect(trialEndsSoon(trial, END - 3 * DAY)).toBe(true);
    expect(trialEndsSoon(trial, END - 3 * DAY - 1)).toBe(false);
    expect(trialEndsSoon({ ...trial, cancel_at_period_end: true }, END - DAY)).toBe(false);
  });
});
