import { describe, expect, test } from 'vitest';
import type { Checkout, FastPayInfo, StripeContext } from '../types';
import {
  initialPayment,
  type PaymentEvent,
  type PaymentMachine,
  type PaymentState,
  reducePayment,
} from './payment-state';

const info: FastPayInfo = { type: 'delegation', amount: '5', payer: 'z1' };
const context: StripeContext = { client_secret: 's', intent_type: 'payment_intent', status: 'requires_payment_method' };
const session = (status: string, intent?: string) =>
  ({
    checkoutSession: { id: 'cs_1', status, payment_status: status === 'complete' ? 'paid' : 'unpaid' },
    paymentIntent: intent ? { id: 'pi_1', status: intent } : null,
    paymentMethods: [],
  }) as unknown as Checkout;

const at = (state: PaymentState): PaymentMachine => ({ state, problem: null, shakes: 0 });
const reached = (...events: PaymentEvent[]) => events.reduce(reducePayment, at({ name: 'idle' }));
const names = (...events: PaymentEvent[]) => {
  let machine = at({ name: 'idle' });
  return events.map((event) => {
    machine = reducePayment(machine, event);
    return machine.state.name;
  });
};

const SUBMITTED: PaymentEvent = { type: 'submitted' };
const STATES: PaymentState[] = [
  { name: 'idle' },
  { name: 'submitting', waitingFor: 'server' },
  { name: 'submitting', waitingFor: 'wallet' },
  { name: 'paying', by: 'wallet', timedOut: false },
  { name: 'cardPaying', context },
  { name: 'fastPayConfirmation', info, isConfirming: false },
  { name: 'customerLimited' },
];

describe('a payment', () => {
  test('by wallet goes from submit through the wallet and polling to paid', () => {
    expect(
      names(
        SUBMITTED,
        { type: 'walletOpened' },
        { type: 'paymentSent', by: 'wallet' },
        { type: 'sessionRead', checkout: session('open', 'processing') },
        { type: 'sessionRead', checkout: session('complete') },
      ),
    ).toEqual(['submitting', 'submitting', 'paying', 'paying', 'paid']);
  });

  test('by card goes through the card form, and returns to idle when the form closes', () => {
    expect(
      names(
        SUBMITTED,
        { type: 'cardFormOpened', context },
        { type: 'cardFormClosed' },
        SUBMITTED,
        { type: 'cardFormOpened', context },
        { type: 'paymentSent', by: 'card' },
      ),
    ).toEqual(['submitting', 'cardPaying', 'idle', 'submitting', 'cardPaying', 'paying']);
  });

  test('by an existing authorization needs confirmation, and falls back to the wallet', () => {
    expect(
      names(SUBMITTED, { type: 'fastPayOffered', info }, { type: 'fastPayConfirmed' }, { type: 'walletOpened' }),
    ).toEqual(['submitting', 'fastPayConfirmation', 'fastPayConfirmation', 'submitting']);
  });

  test('cannot be dismissed while its confirmation is being sent', () => {
    const confirming = reached(SUBMITTED, { type: 'fastPayOffered', info }, { type: 'fastPayConfirmed' });
    expect(reducePayment(confirming, { type: 'fastPayDismissed' })).toBe(confirming);
  });

  test('of a limited customer is submitted again once the invoices are paid, else the banner stays', () => {
    expect(names(SUBMITTED, { type: 'customerLimited' }, SUBMITTED)).toEqual([
      'submitting',
      'customerLimited',
      'submitting',
    ]);
    const dismissed = reached(SUBMITTED, { type: 'customerLimited' }, { type: 'limitDismissed' });
    expect([dismissed.state.name, dismissed.problem]).toEqual(['idle', { kind: 'limited' }]);
  });

  test('that times out can be checked again', () => {
    const timedOut = reached(SUBMITTED, { type: 'paymentSent', by: 'card' }, { type: 'pollTimedOut' });
    expect(timedOut.state).toEqual({ name: 'paying', by: 'card', timedOut: true });
    expect(reducePayment(timedOut, { type: 'paymentSent', by: 'card' }).state).toMatchObject({ timedOut: false });
  });

  test('that fails shows the reason until the next submit', () => {
    const failed = reached(SUBMITTED, { type: 'failed', text: 'declined' });
    expect(failed.problem).toEqual({ kind: 'failed', text: 'declined', crossSell: false });
    expect(reducePayment(failed, SUBMITTED).problem).toBeNull();
  });

  test('of a changed total is confirmed again: the order was not sent, and the reason stays until the next submit', () => {
    const changed: PaymentEvent = { type: 'totalChanged', text: 'now 2 SKT' };
    const machine = reached(SUBMITTED, { type: 'sessionRead', checkout: session('open') }, changed);
    expect(machine).toEqual({ ...at({ name: 'idle' }), problem: { kind: 'totalChanged', text: 'now 2 SKT' } });
    expect(reducePayment(machine, SUBMITTED)).toEqual(at({ name: 'submitting', waitingFor: 'server' }));
    expect(reached(SUBMITTED, { type: 'sessionRead', checkout: session('complete') }, changed).state.name).toBe('paid');
    for (const state of STATES.filter(({ name }) => name !== 'submitting'))
      expect(reducePayment(at(state), changed), state.name).toEqual(at(state));
  });

  test('shakes the summary once for each missing cross-sell', () => {
    const missing: PaymentEvent = { type: 'failed', text: 'choose', crossSell: true };
    expect(reached(SUBMITTED, missing).shakes).toBe(1);
    expect(reached(SUBMITTED, missing, SUBMITTED, missing, SUBMITTED, { type: 'failed', text: 'no' }).shakes).toBe(2);
  });
});

describe('an event', () => {
  test('of a closed wallet or card form changes nothing', () => {
    const paying = at({ name: 'paying', by: 'wallet', timedOut: false });
    for (const type of ['walletClosed', 'cardFormClosed', 'limitDismissed', 'fastPayDismissed', 'rejected'] as const)
      expect(reducePayment(paying, { type }), type).toBe(paying);
    expect(reducePayment(at({ name: 'idle' }), { type: 'cardFormOpened', context }).state.name).toBe('idle');
  });

  test('after a final state changes nothing', () => {
    for (const state of [{ name: 'paid' }, { name: 'expired' }] as const)
      for (const event of [SUBMITTED, { type: 'paymentSent', by: 'card' }, { type: 'failed', text: 'no' }] as const)
        expect(reducePayment(at(state), event)).toEqual(at(state));
  });

  test('of a complete or expired session ends every state', () => {
    for (const state of STATES) {
      const read = (status: string) =>
        reducePayment(at(state), { type: 'sessionRead', checkout: session(status) }).state.name;
      expect([read('complete'), read('expired')], state.name).toEqual(['paid', 'expired']);
    }
  });

  test('that repeats a running submit changes nothing', () => {
    for (const state of STATES.filter(({ name }) => name !== 'idle' && name !== 'customerLimited'))
      expect(reducePayment(at(state), SUBMITTED), state.name).toEqual(at(state));
  });
});

describe('a page', () => {
  const found = { sent: false, by: 'card' as const, problem: null };

  test('starts with the form', () => {
    expect(initialPayment(session('open'), found).state.name).toBe('idle');
  });

  test('polls a payment that was processing before it loaded', () => {
    expect(initialPayment(session('open', 'processing'), found).state).toEqual({
      name: 'paying',
      by: 'card',
      timedOut: false,
    });
    expect(initialPayment(session('open'), { ...found, sent: true }).state.name).toBe('paying');
  });

  test('polls a payment that another tab started', () => {
    const read = reducePayment(at({ name: 'idle' }), { type: 'sessionRead', checkout: session('open', 'processing') });
    expect(read.state.name).toBe('paying');
  });
});
