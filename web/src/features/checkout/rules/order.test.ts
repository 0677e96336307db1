// @vitest-environment happy-dom
import { describe, expect, test } from 'vitest';
import { setLocale } from '@/lib/locale';
import type { Checkout, CheckoutSession, LineItem, PaymentMethod, Price, SessionUser } from '../types';
import { defaultOption, payOptions } from './currency';
import { parseQuantity, quantityError, quantityRange } from './quantity';
import { idOf, modeOf, mountPrefix, pageAt, paymentError, safeUrl, viewOf } from './view';

const price = (changes: Partial<Price> = {}): Price => ({
  id: 'price_1',
  type: 'one_time',
  currency_id: 'pc_skt',
  unit_amount: '5',
  currency_options: [{ currency_id: 'pc_usd', unit_amount: '500' }],
  ...changes,
});
const item: LineItem = { price_id: 'price_1', price: price(), quantity: 1 };
const session = (changes: Partial<CheckoutSession> = {}): CheckoutSession => ({
  id: 'cs_1',
  status: 'open',
  payment_status: 'unpaid',
  stake_return_days: 14,
  mode: 'payment',
  currency_id: 'pc_skt',
  line_items: [item],
  expires_at: 2000,
  livemode: false,
  ...changes,
});
const method = (
  type: PaymentMethod['type'],
  currency: string,
  changes: Partial<PaymentMethod> = {},
): PaymentMethod => ({
  id: `pm_${type}`,
  type,
  name: type,
  livemode: false,
  settings: {},
  payment_currencies: [{ id: currency, symbol: 'X', decimal: 2, name: 'X', payment_method_id: `pm_${type}` }],
  ...changes,
});
const methods = [method('stripe', 'pc_usd'), method('arcblock', 'pc_skt'), method('base', 'pc_unknown')];
const wallet: SessionUser = { did: 'z1', connectedAccounts: [{ provider: 'wallet' }] };

describe('quantity', () => {
  test('the inventory is checked before the purchase limit', () => {
    const scarce = price({ quantity_available: 5, quantity_sold: 3, quantity_limit_per_checkout: 1 });
    expect(quantityError(scarce, 3)).toBe('Exceed inventory');
    expect(quantityError(scarce, 2)).toBe('Exceed purchase limit');
    expect(quantityError(scarce, 1)).toBeNull();
  });

  test('zero means unlimited', () => {
    expect(quantityError(price({ quantity_available: 0, quantity_limit_per_checkout: 0 }), 1000)).toBeNull();
  });

  test('only whole numbers are parsed', () => {
    expect(['2', ' 3 ', '0', '1.5', '-1', '', '99999999'].map(parseQuantity)).toEqual([
      2,
      3,
      null,
      null,
      null,
      null,
      null,
    ]);
    expect(quantityRange({ ...item, adjustable_quantity: { enabled: true, minimum: 2, maximum: 9 } })).toEqual({
      minimum: 2,
      maximum: 9,
    });
  });
});

describe('payment options', () => {
  const options = payOptions(methods, session());

  test('are the currencies of every price, wallets first', () => {
    expect(options.map((each) => each.currency.id)).toEqual(['pc_skt', 'pc_usd']);
  });

  test.each([
    [
      'the currencyId parameter wins',
      { requested: 'pc_usd', remembered: null, session: 'pc_skt', user: wallet },
      'pc_usd',
    ],
    [
      'a user without a wallet starts with a card',
      { requested: null, remembered: 'pc_skt', session: 'pc_skt', user: { did: 'z2' } },
      'pc_usd',
    ],
    [
      'the remembered currency wins over the session',
      { requested: null, remembered: 'pc_usd', session: 'pc_skt', user: wallet },
      'pc_usd',
    ],
    [
      'the currency of the session is the fallback',
      { requested: 'pc_gone', remembered: 'pc_gone', session: 'pc_skt', user: null },
      'pc_skt',
    ],
  ])('%s', (_, preferences, expected) => {
    expect(defaultOption(options, preferences)?.currency.id).toBe(expected);
  });
});

describe('the view', () => {
  const checkout = (changes: Partial<CheckoutSession>): Checkout => ({
    checkoutSession: session(changes),
    paymentMethods: methods,
  });

  test.each([
    ['is the form while the session is open', {}, 'form'],
    ['is expired from the exact second', { expires_at: 1000 }, 'expired'],
    ['is expired if the server says so', { status: 'expired' as const }, 'expired'],
    ['is empty without items', { line_items: [] }, 'empty'],
    [
      'is completed even after the expiry',
      { status: 'complete' as const, payment_status: 'paid' as const, expires_at: 1 },
      'completed',
    ],
    ['is not completed while unpaid', { status: 'complete' as const }, 'form'],
  ])('%s', (_, changes, view) => {
    expect(viewOf(checkout(changes), 1000)).toBe(view);
  });

  test('an order with a running payment does not expire by the local clock', () => {
    const paying = { ...checkout({}), paymentIntent: { id: 'pi', status: 'processing' } };
    expect(viewOf(checkout({}), 2000)).toBe('expired');
    expect(viewOf(paying, 2000)).toBe('form');
    expect(viewOf(checkout({}), 2000, true)).toBe('form');
    expect(viewOf(checkout({ status: 'expired' }), 1000, true)).toBe('expired');
  });

  test('only requires_action with an error ends polling', () => {
    const error = { message: 'Challenge failed' };
    expect(paymentError({ id: 'pi', status: 'requires_action', last_payment_error: error })).toBe(error);
    expect(paymentError({ id: 'pi', status: 'processing', last_payment_error: error })).toBeNull();
    expect(paymentError({ id: 'pi', status: 'requires_action' })).toBeNull();
  });
});

describe('the URL', () => {
  test('identifies a link or a session, under any prefix', () => {
    expect(idOf('/checkout/pay/plink_1')).toEqual({ kind: 'link', id: 'plink_1' });
    expect(idOf('/payment/checkout/pay/cs_1/')).toEqual({ kind: 'session', id: 'cs_1' });
    expect(idOf('/checkout/pay/in_1')).toBeNull();
    expect(mountPrefix('/payment/checkout/pay/cs_1')).toBe('/payment');
    expect(mountPrefix('/checkout/pay/cs_1')).toBe('');
  });

  test('of another page keeps the prefix and the locale parameter', () => {
    setLocale('zh');
    window.history.replaceState(null, '', '/payment/checkout/pay/cs_1?locale=en&mode=inline');
    expect(pageAt('/customer')).toBe('/payment/customer?locale=zh');
    expect(pageAt('/customer?referer=x')).toBe('/payment/customer?referer=x&locale=zh');
    window.history.replaceState(null, '', '/checkout/pay/cs_1');
    expect(pageAt('/')).toBe('/');
  });

  test('sets the mode', () => {
    expect(modeOf(new URLSearchParams('mode=inline-minimal'))).toBe('inline-minimal');
    expect(modeOf(new URLSearchParams('mode=other'))).toBe('standalone');
  });

  test('to return to must be http or https', () => {
    expect(safeUrl('javascript:alert(1)', 'https://souk.example')).toBeNull();
    expect(safeUrl('/apps?x=1', 'https://souk.example')).toBe('https://souk.example/apps?x=1');
    expect(safeUrl('https://shop.example/cart', 'https://souk.example')).toBe('https://shop.example/cart');
  });

  test.each(['https://souk.example//evil.example/x', '/.//evil.example/x', 'https://souk.example/\\evil.example'])(
    'does not turn %s into another host',
    (url) => {
      const link = safeUrl(url, 'https://souk.example');
      expect(link && new URL(link, 'https://souk.example').origin).toBe('https://souk.example');
    },
  );
});
