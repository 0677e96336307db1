import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { StripeContext } from '@/api/types';
import CardDialog, { type CardContact } from './dialog';

const fetchMock = vi.fn<typeof fetch>();
const onClose = vi.fn();
const contact = { name: 'Mei', email: 'mei@example.org', country: 'us', postalCode: '10001' };
const setup: StripeContext = { client_secret: 'seti_1_secret_2', intent_type: 'setup_intent', status: 'open' };
const payment: StripeContext = { client_secret: 'pi_1_secret_2', intent_type: 'payment_intent', status: 'open' };

function open(context: StripeContext, key: string, known: CardContact = contact) {
  const settings = { api_host: '/sandbox/stripe', publishable_key: key };
  const onAccepted = vi.fn();
  const dialog = { settings, context, contact: known, amount: '10 USD', onAccepted, onClose };
  render(<CardDialog {...dialog} />);
  return onAccepted;
}

/** Stubs Stripe.js with the given result. */
async function payByStripe(confirmPayment: () => Promise<object>) {
  const elements = () => ({ create: () => ({ mount: () => undefined, destroy: () => undefined }) });
  window.Stripe = () => ({ confirmSetup: confirmPayment, confirmPayment, elements });
  const onAccepted = open(payment, 'pk_test_1');
  const button = await screen.findByRole('button', { name: 'Pay 10 USD' });
  await waitFor(() => expect(button.hasAttribute('disabled')).toBe(false));
  fireEvent.click(button);
  return onAccepted;
}

beforeEach(() => {
  onClose.mockReset();
  vi.stubGlobal('fetch', fetchMock.mockReset());
});
afterEach(() => {
  vi.unstubAllGlobals();
  Reflect.deleteProperty(window, 'Stripe');
});

describe('the card form', () => {
  test('labels its button for a payment or for saving the card', () => {
    open(payment, 'pk_sandbox_1');
    expect(screen.getByRole('button', { name: 'Pay 10 USD' })).toBeTruthy();
    open(setup, 'pk_sandbox_1');
    expect(screen.getByRole('button', { name: 'Save card' })).toBeTruthy();
  });

  test('saves a card in the sandbox after a 3-D Secure challenge', async () => {
    const statuses = ['requires_action', 'succeeded'];
    fetchMock.mockImplementation(async () => new Response(JSON.stringify({ id: 'seti_1', status: statuses.shift() })));
    const onAccepted = open(setup, 'pk_sandbox_1');
    fireEvent.click(screen.getByRole('button', { name: /verification each time/ }));
    fireEvent.click(screen.getByRole('button', { name: 'Save card' }));
    await screen.findByText(/to save the card/);
    fireEvent.click(screen.getByRole('button', { name: 'Complete' }));
    await waitFor(() => expect(onAccepted).toHaveBeenCalled());
    expect(fetchMock.mock.calls.map(([address]) => address)).toEqual([
      '/sandbox/stripe/v1/setup_intents/seti_1/confirm',
      '/sandbox/stripe/v1/setup_intents/seti_1/authenticate',
    ]);
  });

  test('says that the sandbox is off instead of waiting for a payment that nobody makes', async () => {
    fetchMock.mockImplementation(async () => new Response(JSON.stringify({ code: 'SANDBOX_OFF' }), { status: 503 }));
    const onAccepted = open(payment, 'pk_sandbox_1');
    fireEvent.click(screen.getByRole('button', { name: 'Use the test card: Succeeds' }));
    fireEvent.click(screen.getByRole('button', { name: 'Pay 10 USD' }));
    const alert = await screen.findByRole('alert');
    expect(alert.textContent).toContain('Test payments are switched off');
    expect(onAccepted).not.toHaveBeenCalled();
  });

  test.each([
    ['Save card', setup, 'confirmSetup'],
    ['Pay 10 USD', payment, 'confirmPayment'],
  ] as const)('confirms with Stripe.js on "%s"', async (label, context, confirmed) => {
    const stripe = { confirmSetup: vi.fn(async () => ({})), confirmPayment: vi.fn(async () => ({})) };
    const elements = vi.fn(() => ({ create: () => ({ mount: () => undefined, destroy: () => undefined }) }));
    window.Stripe = () => ({ ...stripe, elements });
    const onAccepted = open(context, 'pk_test_1');
    const button = await screen.findByRole('button', { name: label });
    await waitFor(() => expect(button.hasAttribute('disabled')).toBe(false));
    fireEvent.click(button);
    await waitFor(() => expect(onAccepted).toHaveBeenCalled());
    expect(elements).toHaveBeenCalledWith(expect.objectContaining({ clientSecret: context.client_secret }));
    expect([stripe.confirmSetup.mock.calls.length, stripe.confirmPayment.mock.calls.length]).toEqual(
      confirmed === 'confirmSetup' ? [1, 0] : [0, 1],
    );
  });

  test.each([
    [
      'sends the details that are known',
      contact,
      { country: 'never', postalCode: 'never', line1: 'auto' },
      { name: 'Mei', email: 'mei@example.org', address: { country: 'US', postal_code: '10001' } },
    ],
    [
      'has Stripe ask for the country and postal code that are unknown',
      { name: 'Mei', email: '', line1: 'Road 1', country: null },
      { country: 'auto', postalCode: 'auto', line1: 'never' },
      { name: 'Mei', address: { line1: 'Road 1' } },
    ],
    [
      'has Stripe ask for the postal code of a known country',
      { name: 'Mei', email: '', country: 'de', postalCode: '' },
      { country: 'auto', postalCode: 'auto', line1: 'auto' },
      { name: 'Mei', address: {} },
    ],
  ])('%s', async (_, known, asked, sent) => {
    const create = vi.fn((..._: unknown[]) => ({ mount: () => undefined, destroy: () => undefined }));
    const confirmSetup = vi.fn(async (..._: unknown[]) => ({}));
    window.Stripe = () => ({ confirmSetup, confirmPayment: confirmSetup, elements: () => ({ create }) });
    const onAccepted = open(setup, 'pk_test_1', known);
    const button = await screen.findByRole('button', { name: 'Save card' });
    await waitFor(() => expect(button.hasAttribute('disabled')).toBe(false));
    expect(create.mock.lastCall?.[1]).toMatchObject({ fields: { billingDetails: { address: asked } } });
    const country = known.country?.toUpperCase();
    if (country) {
      const defaultValues = { billingDetails: { address: { country } } };
      expect(create.mock.lastCall?.[1]).toMatchObject({ defaultValues });
    }
    fireEvent.click(button);
    await waitFor(() => expect(onAccepted).toHaveBeenCalled());
    const options = confirmSetup.mock.lastCall?.[0] as { confirmParams: { payment_method_data: object } };
    expect(options.confirmParams.payment_method_data).toEqual({ billing_details: sent });
  });

  test('cannot be closed while Stripe confirms', async () => {
    let respond: (result: object) => void = () => undefined;
    const onAccepted = await payByStripe(() => new Promise((resolve) => (respond = resolve)));
    await waitFor(() => expect(screen.getByRole('button', { name: 'Close' }).hasAttribute('disabled')).toBe(true));
    fireEvent.keyDown(document, { key: 'Escape' });
    expect(onClose).not.toHaveBeenCalled();
    respond({});
    await waitFor(() => expect(onAccepted).toHaveBeenCalled());
  });

  test.each([
    ['no response', () => Promise.reject(new Error('lost'))],
    ['a lost connection', async () => ({ error: { type: 'api_connection_error', message: 'We could not connect' } })],
    [
      'an intent with an unexpected state',
      async () => ({ error: { type: 'invalid_request_error', code: 'payment_intent_unexpected_state' } }),
    ],
  ])('after %s checks the outcome with the server instead of reporting a decline', async (_, confirm) => {
    const onAccepted = await payByStripe(confirm);
    await waitFor(() => expect(onAccepted).toHaveBeenCalled());
    expect(screen.queryByRole('alert')).toBeNull();
  });

  test('translates declines, and does not report typing errors as declines', async () => {
    const errors = [
      { type: 'card_error', decline_code: 'insufficient_funds', message: 'x' },
      { type: 'validation_error', message: 'Your card number is incomplete.' },
    ];
    const onAccepted = await payByStripe(async () => ({ error: errors.shift() }));
    expect((await screen.findByRole('alert')).textContent).toContain('Your card has insufficient funds.');
    fireEvent.click(screen.getByRole('button', { name: 'Pay 10 USD' }));
    await waitFor(() => expect(screen.getByRole('alert').textContent).toContain('Your card number is incomplete.'));
    expect(screen.getByRole('alert').textContent).not.toContain('declined');
    expect(onAccepted).not.toHaveBeenCalled();
    fireEvent.keyDown(document, { key: 'Escape' });
    expect(onClose).toHaveBeenCalledTimes(1);
  });
});
