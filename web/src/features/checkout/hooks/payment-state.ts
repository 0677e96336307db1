import { inFlight, isComplete } from '../rules/view';
import type { Checkout, FastPayInfo, StripeContext } from '../types';

/** How a sent payment is processed. */
export type Rail = 'wallet' | 'card';

/** The states of SPEC.md 4. `paid` and `expired` are final. */
export type PaymentState =
  | { name: 'idle' }
  /** The order is being submitted, or the wallet dialog is open. */
  | { name: 'submitting'; waitingFor: 'server' | 'wallet' }
  /** The payment was sent, and the server is polled; `timedOut` once polling has stopped. */
  | { name: 'paying'; by: Rail; timedOut: boolean }
  /** The card form is open. */
  | { name: 'cardPaying'; context: StripeContext }
  /** A mandate or the balance can pay; the customer only confirms. */
  | { name: 'fastPayConfirmation'; info: FastPayInfo; isConfirming: boolean }
  /** Unpaid invoices must be paid first; they are shown. */
  | { name: 'customerLimited' }
  | { name: 'paid' }
  | { name: 'expired' };

/** Why the last attempt failed; shown above the form. */
export type Problem =
  | { kind: 'limited' }
  /** The page showed a total that is no longer charged; the customer confirms the new one by paying again. */
  | { kind: 'totalChanged'; text: string }
  | { kind: 'failed'; text: string; crossSell: boolean };

export interface PaymentMachine {
  state: PaymentState;
  problem: Problem | null;
  /** Counts submits without a required cross-sell: the order summary shakes once for each. */
  shakes: number;
}

export type PaymentEvent =
  | { type: 'submitted' }
  | { type: 'failed'; text: string; crossSell?: boolean }
  | { type: 'rejected' }
  | { type: 'totalChanged'; text: string }
  | { type: 'customerLimited' }
  | { type: 'limitDismissed' }
  | { type: 'walletOpened' }
  | { type: 'walletClosed' }
  | { type: 'cardFormOpened'; context: StripeContext }
  | { type: 'cardFormClosed' }
  | { type: 'fastPayOffered'; info: FastPayInfo }
  | { type: 'fastPayConfirmed' }
  | { type: 'fastPayDismissed' }
  | { type: 'paymentSent'; by: Rail }
  | { type: 'pollTimedOut' }
  | { type: 'sessionRead'; checkout: Checkout };

const IDLE: PaymentState = { name: 'idle' };

/** The initial state: a payment can be processing already, or the last one can have failed. */
export function initialPayment(
  checkout: Checkout,
  initial: { sent: boolean; by: Rail; problem: Problem | null },
): PaymentMachine {
  const machine: PaymentMachine = { state: IDLE, problem: initial.problem, shakes: 0 };
  const read = reducePayment(machine, { type: 'sessionRead', checkout });
  if (read.state.name === 'paying' || (initial.sent && read.state.name === 'idle'))
    return { ...machine, state: { name: 'paying', by: initial.by, timedOut: false } };
  return read;
}

const isFinal = (state: PaymentState) => state.name === 'paid' || state.name === 'expired';

/** The next state after an event. Events that do not apply to the current state change nothing. */
export function reducePayment(machine: PaymentMachine, event: PaymentEvent): PaymentMachine {
  const { state } = machine;
  if (isFinal(state)) return machine;
  const to = (next: PaymentState, problem = machine.problem): PaymentMachine => ({ ...machine, state: next, problem });
  switch (event.type) {
    case 'submitted':
      return state.name === 'idle' || state.name === 'customerLimited'
        ? to({ name: 'submitting', waitingFor: 'server' }, null)
        : machine;
    case 'failed': {
      const crossSell = event.crossSell ?? false;
      const failed = to(IDLE, { kind: 'failed', text: event.text, crossSell });
      return crossSell ? { ...failed, shakes: machine.shakes + 1 } : failed;
    }
    // The form shows the errors.
    case 'rejected':
      return state.name === 'submitting' ? to(IDLE) : machine;
    case 'totalChanged':
      return state.name === 'submitting' ? to(IDLE, { kind: 'totalChanged', text: event.text }) : machine;
    case 'customerLimited':
      return state.name === 'submitting' ? to({ name: 'customerLimited' }, { kind: 'limited' }) : machine;
    case 'limitDismissed':
      return state.name === 'customerLimited' ? to(IDLE) : machine;
    case 'walletOpened':
      return state.name === 'submitting' || state.name === 'fastPayConfirmation'
        ? to({ name: 'submitting', waitingFor: 'wallet' })
        : machine;
    case 'walletClosed':
      return state.name === 'submitting' && state.waitingFor === 'wallet' ? to(IDLE) : machine;
    case 'cardFormOpened':
      return state.name === 'submitting' ? to({ name: 'cardPaying', context: event.context }) : machine;
    case 'cardFormClosed':
      return state.name === 'cardPaying' ? to(IDLE) : machine;
    case 'fastPayOffered':
      return state.name === 'submitting'
        ? to({ name: 'fastPayConfirmation', info: event.info, isConfirming: false })
        : machine;
    case 'fastPayConfirmed':
      return state.name === 'fastPayConfirmation' ? to({ ...state, isConfirming: true }) : machine;
    case 'fastPayDismissed':
      return state.name === 'fastPayConfirmation' && !state.isConfirming ? to(IDLE) : machine;
    case 'paymentSent':
      return to({ name: 'paying', by: event.by, timedOut: false }, null);
    case 'pollTimedOut':
      return state.name === 'paying' ? to({ ...state, timedOut: true }) : machine;
    case 'sessionRead':
      if (isComplete(event.checkout.checkoutSession)) return to({ name: 'paid' }, null);
      if (event.checkout.checkoutSession.status === 'expired') return to({ name: 'expired' });
      // Another tab is paying.
      return state.name === 'idle' && inFlight(event.checkout)
        ? to({ name: 'paying', by: 'wallet', timedOut: false }, null)
        : machine;
  }
}
