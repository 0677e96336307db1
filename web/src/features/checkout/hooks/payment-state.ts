import { inFlight, isComplete } from '../rules/view';
import type { Checkout, FastPayInfo, StripeContext } from '../wire';

/** Who moves the money of a payment that has been sent. */
export type Rail = 'wallet' | 'card';

/** The states of SPEC.md 4. `paid` and `expired` are final. */
export type PaymentState =
  | { name: 'idle' }
  /** The order is being sent, or the wallet is asked to confirm it. */
  | { name: 'submitting'; waitingFor: 'server' | 'wallet' }
  /** The payment was sent: the server is polled until it is settled, `timedOut` once it is not any more. */
  | { name: 'paying'; by: Rail; timedOut: boolean }
  /** The card form is open. */
  | { name: 'cardPaying'; context: StripeContext }
  /** An earlier authorization, or the balance, can pay: the customer only confirms. */
  | { name: 'fastPayConfirmation'; info: FastPayInfo; isConfirming: boolean }
  /** Unpaid invoices have to be paid first; they are shown. */
  | { name: 'customerLimited' }
  | { name: 'paid' }
  | { name: 'expired' };

/** Why the last try did not lead to a payment; shown above the form. */
export type Problem = { kind: 'limited' } | { kind: 'failed'; text: string; crossSell: boolean };

export interface PaymentMachine {
  state: PaymentState;
  problem: Problem | null;
  /** Counts the submits that lacked a required cross-sell: the order summary shakes once for each. */
  shakes: number;
}

export type PaymentEvent =
  | { type: 'submitted' }
  | { type: 'failed'; text: string; crossSell?: boolean }
  | { type: 'rejected' }
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

/** Where a page begins: a payment may be under way already, or the last one may have failed. */
export function initialPayment(
  checkout: Checkout,
  found: { sent: boolean; by: Rail; problem: Problem | null },
): PaymentMachine {
  const machine: PaymentMachine = { state: IDLE, problem: found.problem, shakes: 0 };
  const read = reducePayment(machine, { type: 'sessionRead', checkout });
  if (read.state.name === 'paying' || (found.sent && read.state.name === 'idle'))
    return { ...machine, state: { name: 'paying', by: found.by, timedOut: false } };
  return read;
}

const isFinal = (state: PaymentState) => state.name === 'paid' || state.name === 'expired';

/** The next state after an event. An event that the present state does not expect changes nothing. */
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
    // The form itself shows what is wrong.
    case 'rejected':
      return state.name === 'submitting' ? to(IDLE) : machine;
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
      // It is being paid in another tab.
      return state.name === 'idle' && inFlight(event.checkout)
        ? to({ name: 'paying', by: 'wallet', timedOut: false }, null)
        : machine;
  }
}
