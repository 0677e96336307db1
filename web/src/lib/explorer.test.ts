import { describe, expect, it } from 'vitest';
import { transactionLink } from './explorer';

describe('the link to a transaction', () => {
  it('goes to /txs on an ArcBlock explorer', () => {
    const method = { type: 'arcblock', settings: { arcblock: { explorer_host: 'https://x.example/explorer/' } } };
    expect(transactionLink(method, { arcblock: { tx_hash: 'AB12' } })?.url).toBe('https://x.example/explorer/txs/AB12');
  });

  it('goes to /tx on an EVM explorer, with the hash shown in capitals', () => {
    const method = { type: 'ethereum', settings: { ethereum: { explorer_host: 'https://etherscan.io' } } };
    expect(transactionLink(method, { ethereum: { tx_hash: '0xab' } })).toEqual({
      label: '0XAB',
      url: 'https://etherscan.io/tx/0xab',
    });
  });

  it("goes to the card provider's dashboard, or to the one set on the payment method", () => {
    const details = { stripe: { payment_intent_id: 'pi_1' } };
    expect(transactionLink({ type: 'stripe', livemode: true }, details)?.url).toBe(
      'https://dashboard.stripe.com/payments/pi_1',
    );
    expect(transactionLink({ type: 'stripe', livemode: false }, details)?.url).toBe(
      'https://dashboard.stripe.com/test/payments/pi_1',
    );
    const method = { type: 'stripe', settings: { stripe: { dashboard: 'https://s.example/dash' } } };
    expect(transactionLink(method, details)?.url).toBe('https://s.example/dash/payments/pi_1');
  });

  it('is absent without a transaction', () => {
    expect(transactionLink({ type: 'arcblock', settings: {} }, {})).toBeNull();
    expect(transactionLink(null, null)).toBeNull();
  });
});
