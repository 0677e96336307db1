import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { authenticate, type CardTarget, confirmCard } from './processor';

const fetched = vi.fn<typeof fetch>();
const answer = (status: number, body: object) => new Response(JSON.stringify(body), { status });
const card = {
  number: '4242424242424242',
  expMonth: '12',
  expYear: '2030',
  cvc: '123',
  name: 'Mei',
  email: 'mei@example.org',
  postalCode: '',
  country: 'us',
};
const setup: CardTarget = {
  host: '/sandbox/stripe/',
  key: 'pk_sandbox_1',
  clientSecret: 'seti_1_secret_2',
  kind: 'setup_intent',
};
const payment: CardTarget = { ...setup, clientSecret: 'pi_1_secret_2', kind: 'payment_intent' };
const asked = () => fetched.mock.calls.map(([address]) => address);
const sent = () => new URLSearchParams(String(fetched.mock.lastCall?.[1]?.body));

beforeEach(() => vi.stubGlobal('fetch', fetched.mockReset()));
afterEach(() => vi.unstubAllGlobals());

describe('the card processor', () => {
  test('is asked to save a card where a setup is open, and to charge it where a payment is', async () => {
    fetched.mockImplementation(async () => answer(200, { id: 'x', status: 'succeeded' }));
    expect(await confirmCard(setup, card)).toEqual({ name: 'accepted' });
    expect(sent().get('client_secret')).toBe('seti_1_secret_2');
    expect(sent().get('payment_method_data[card][number]')).toBe('4242424242424242');
    await confirmCard(payment, card);
    await authenticate(setup, false);
    expect(sent().get('success')).toBe('false');
    expect(asked()).toEqual([
      '/sandbox/stripe/v1/setup_intents/seti_1/confirm',
      '/sandbox/stripe/v1/payment_intents/pi_1/confirm',
      '/sandbox/stripe/v1/setup_intents/seti_1/authenticate',
    ]);
  });

  test('may want a second step before it saves a card', async () => {
    fetched.mockResolvedValueOnce(answer(200, { id: 'seti_1', status: 'requires_action' }));
    expect(await confirmCard(setup, card)).toEqual({ name: 'challenge' });
  });

  test('says why it does not save a card, in its answer or in the setup', async () => {
    const refusal = { code: 'setup_intent_authentication_failure', message: 'No.' };
    fetched.mockResolvedValueOnce(answer(402, { error: refusal }));
    expect(await confirmCard(setup, card)).toEqual({ name: 'refused', refusal });
    const failed = { id: 'seti_1', status: 'requires_payment_method', last_setup_error: refusal };
    fetched.mockResolvedValueOnce(answer(200, failed));
    expect(await confirmCard(setup, card)).toEqual({ name: 'refused', refusal });
  });

  test('that does not answer leaves the outcome open', async () => {
    fetched.mockRejectedValueOnce(new TypeError('offline'));
    expect(await confirmCard(setup, card)).toEqual({ name: 'unknown' });
    fetched.mockResolvedValueOnce(answer(504, {}));
    expect(await confirmCard(setup, card)).toEqual({ name: 'unknown' });
  });
});
