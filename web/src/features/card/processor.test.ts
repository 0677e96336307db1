import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { authenticate, type CardTarget, confirmCard } from './processor';

const fetchMock = vi.fn<typeof fetch>();
const jsonResponse = (status: number, body: object) => new Response(JSON.stringify(body), { status });
const card = {
  number: '4242424242424242',
  expMonth: '12',
  expYear: '2030',
  cvc: '123',
  name: 'Mei',
  email: 'mei@example.org',
  postalCode: '94103',
  country: 'us',
};
const setup: CardTarget = {
  host: '/sandbox/stripe/',
  key: 'pk_sandbox_1',
  clientSecret: 'seti_1_secret_2',
  kind: 'setup_intent',
};
const payment: CardTarget = { ...setup, clientSecret: 'pi_1_secret_2', kind: 'payment_intent' };
const requestedUrls = () => fetchMock.mock.calls.map(([address]) => address);
const sentBody = () => new URLSearchParams(String(fetchMock.mock.lastCall?.[1]?.body));

beforeEach(() => vi.stubGlobal('fetch', fetchMock.mockReset()));
afterEach(() => vi.unstubAllGlobals());

describe('the card processor', () => {
  test('saves a card for a setup intent, and charges it for a payment intent', async () => {
    fetchMock.mockImplementation(async () => jsonResponse(200, { id: 'x', status: 'succeeded' }));
    expect(await confirmCard(setup, card)).toEqual({ name: 'accepted' });
    expect(sentBody().get('client_secret')).toBe('seti_1_secret_2');
    expect(sentBody().get('payment_method_data[card][number]')).toBe('4242424242424242');
    await confirmCard(payment, card);
    await authenticate(setup, false);
    expect(sentBody().get('success')).toBe('false');
    expect(requestedUrls()).toEqual([
      '/sandbox/stripe/v1/setup_intents/seti_1/confirm',
      '/sandbox/stripe/v1/payment_intents/pi_1/confirm',
      '/sandbox/stripe/v1/setup_intents/seti_1/authenticate',
    ]);
  });

  test('sends the known billing details, and none that the customer has not entered', async () => {
    fetchMock.mockImplementation(async () => jsonResponse(200, { id: 'x', status: 'succeeded' }));
    const address = (field: string) => sentBody().get(`payment_method_data[billing_details][address][${field}]`);
    await confirmCard(setup, card);
    expect([address('country'), address('postal_code')]).toEqual(['US', '94103']);
    await confirmCard(setup, { ...card, country: undefined, postalCode: '' });
    expect([address('country'), address('postal_code')]).toEqual([null, null]);
  });

  test('can require a challenge before it saves a card', async () => {
    fetchMock.mockResolvedValueOnce(jsonResponse(200, { id: 'seti_1', status: 'requires_action' }));
    expect(await confirmCard(setup, card)).toEqual({ name: 'challenge' });
  });

  test('reports a decline from the response or from the setup intent', async () => {
    const error = { code: 'setup_intent_authentication_failure', message: 'No.' };
    fetchMock.mockResolvedValueOnce(jsonResponse(402, { error }));
    expect(await confirmCard(setup, card)).toEqual({ name: 'declined', error });
    const failed = { id: 'seti_1', status: 'requires_payment_method', last_setup_error: error };
    fetchMock.mockResolvedValueOnce(jsonResponse(200, failed));
    expect(await confirmCard(setup, card)).toEqual({ name: 'declined', error });
  });

  test('leaves the outcome unknown without a response', async () => {
    fetchMock.mockRejectedValueOnce(new TypeError('offline'));
    expect(await confirmCard(setup, card)).toEqual({ name: 'unknown' });
    fetchMock.mockResolvedValueOnce(jsonResponse(504, {}));
    expect(await confirmCard(setup, card)).toEqual({ name: 'unknown' });
  });
});
