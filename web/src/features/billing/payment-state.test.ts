import { describe, expect, it } from 'vitest';
import { needsAction, paymentState } from './payment-state';

describe('a failed attempt', () => {
  it('requires action by the customer while its invoice is unpaid', () => {
    const attempt = { status: 'requires_action', invoice_status: 'uncollectible' };
    expect(paymentState(attempt)).toBe('requires_action');
    expect(needsAction(attempt)).toBe(true);
  });

  it.each(['paid', 'void'])('is history once its invoice is %s', (invoice_status) => {
    for (const status of ['requires_payment_method', 'requires_confirmation', 'requires_action']) {
      expect(paymentState({ status, invoice_status })).toBe('failed');
      expect(needsAction({ status, invoice_status })).toBe(false);
    }
  });

  it('of an abandoned checkout requires no action', () => {
    expect(needsAction({ status: 'requires_payment_method', invoice_status: 'draft' })).toBe(false);
    expect(needsAction({ status: 'requires_payment_method', invoice_status: 'uncollectible' })).toBe(true);
  });
});

it('a payment that succeeded or is processing requires no action', () => {
  for (const status of ['succeeded', 'processing', 'canceled', 'brand_new'])
    expect(needsAction({ status, invoice_status: 'open' })).toBe(false);
});
