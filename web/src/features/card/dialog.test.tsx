import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { StripeContext } from '@/api/types';
import CardDialog from './dialog';

const fetched = vi.fn<typeof fetch>();
const closed = vi.fn();
const contact = { name: 'Mei', email: 'mei@example.org', country: 'us', postalCode: '10001' };
const setup: StripeContext = { client_secret: 'seti_1_secret_2', intent_type: 'setup_intent', status: 'open' };
const payment: StripeContext = { client_secret: 'pi_1_secret_2', intent_type: 'payment_intent', status: 'open' };

function open(context: StripeContext, key: string) {
  const settings = { api_host: '/sandbox/stripe', publishable_key: key };
  const accepted = vi.fn();
  const dialog = { settings, context, contact, amount: '10 USD', onAccepted: accepted, onClose: closed };
  render(<CardDialog {...dialog} />);
  return accepted;
}

/** Stripe's script, answering a payment as told. */
async function payByStripe(confirmPayment: () => Promise<object>) {
  const elements = () => ({ create: () => ({ mount: () => undefined, destroy: () => undefined }) });
  window.Stripe = () => ({ confirmSetup: confirmPayment, confirmPayment, elements });
  const accepted = open(payment, 'pk_test_1');
  const button = await screen.findByRole('button', { name: 'Pay 10 USD' });
  await waitFor(() => expect(button.hasAttribute('disabled')).toBe(false));
  fireEvent.click(button);
  return accepted;
}

beforeEach(() => {
  closed.mockReset();
  vi.stubGlobal('fetch', fetched.mockReset());
});
afterEach(() => {
  vi.unstubAllGlobals();
  Reflect.deleteProperty(window, 'Stripe');
});

describe('the card form', () => {
  test('says that it pays, or that it only saves the card', () => {
    open(payment, 'pk_sandbox_1');
    expect(screen.getByRole('button', { name: 'Pay 10 USD' })).toBeTruthy();
    open(setup, 'pk_sandbox_1');
    expect(screen.getByRole('button', { name: 'Save card' })).toBeTruthy();
  });

  test('saves a card in the sandbox, through the second step', async () => {
    const answers = ['requires_action', 'succeeded'];
    fetched.mockImplementation(async () => new Response(JSON.stringify({ id: 'seti_1', status: answers.shift() })));
    const accepted = open(setup, 'pk_sandbox_1');
    fireEvent.click(screen.getByRole('button', { name: /verification each time/ }));
    fireEvent.click(screen.getByRole('button', { name: 'Save card' }));
    await screen.findByText(/to save the card/);
    fireEvent.click(screen.getByRole('button', { name: 'Complete' }));
    await waitFor(() => expect(accepted).toHaveBeenCalled());
    expect(fetched.mock.calls.map(([address]) => address)).toEqual([
      '/sandbox/stripe/v1/setup_intents/seti_1/confirm',
      '/sandbox/stripe/v1/setup_intents/seti_1/authenticate',
    ]);
  });

  test.each([
    ['Save card', setup, 'confirmSetup'],
    ['Pay 10 USD', payment, 'confirmPayment'],
  ] as const)('asks Stripe itself behind "%s"', async (label, context, confirmed) => {
    const stripe = { confirmSetup: vi.fn(async () => ({})), confirmPayment: vi.fn(async () => ({})) };
    const elements = vi.fn(() => ({ create: () => ({ mount: () => undefined, destroy: () => undefined }) }));
    window.Stripe = () => ({ ...stripe, elements });
    const accepted = open(context, 'pk_test_1');
    const button = await screen.findByRole('button', { name: label });
    await waitFor(() => expect(button.hasAttribute('disabled')).toBe(false));
    fireEvent.click(button);
    await waitFor(() => expect(accepted).toHaveBeenCalled());
    expect(elements).toHaveBeenCalledWith(expect.objectContaining({ clientSecret: context.client_secret }));
    expect([stripe.confirmSetup.mock.calls.length, stripe.confirmPayment.mock.calls.length]).toEqual(
      confirmed === 'confirmSetup' ? [1, 0] : [0, 1],
    );
  });

  test('cannot be closed while Stripe is asked', async () => {
    let answer: (result: object) => void = () => undefined;
    const accepted = await payByStripe(() => new Promise((resolve) => (answer = resolve)));
    await waitFor(() => expect(screen.getByRole('button', { name: 'Close' }).hasAttribute('disabled')).toBe(true));
    fireEvent.keyDown(document, { key: 'Escape' });
    expect(closed).not.toHaveBeenCalled();
    answer({});
    await waitFor(() => expect(accepted).toHaveBeenCalled());
  });

  test.each([
    ['no answer', () => Promise.reject(new Error('lost'))],
    ['a lost connection', async () => ({ error: { type: 'api_connection_error', message: 'We could not connect' } })],
    [
      'an intent that has moved',
      async () => ({ error: { type: 'invalid_request_error', code: 'payment_intent_unexpected_state' } }),
    ],
  ])('after %s watches what becomes of it, and does not call it declined', async (_, confirm) => {
    const accepted = await payByStripe(confirm);
    await waitFor(() => expect(accepted).toHaveBeenCalled());
    expect(screen.queryByRole('alert')).toBeNull();
  });

  test('tells a decline in words of the page, and what was only mistyped as such', async () => {
    const errors = [
      { type: 'card_error', decline_code: 'insufficient_funds', message: 'x' },
      { type: 'validation_error', message: 'Your card number is incomplete.' },
    ];
    const accepted = await payByStripe(async () => ({ error: errors.shift() }));
    expect((await screen.findByRole('alert')).textContent).toContain('Your card has insufficient funds.');
    fireEvent.click(screen.getByRole('button', { name: 'Pay 10 USD' }));
    await waitFor(() => expect(screen.getByRole('alert').textContent).toContain('Your card number is incomplete.'));
    expect(screen.getByRole('alert').textContent).not.toContain('declined');
    expect(accepted).not.toHaveBeenCalled();
    fireEvent.keyDown(document, { key: 'Escape' });
    expect(closed).toHaveBeenCalledTimes(1);
  });
});
