import { describe, expect, test } from 'vitest';
import { isEmail } from '@/lib/email';
import type { CheckoutSession } from '../types';
import {
  type FieldContext,
  fieldError,
  formErrors,
  prefilled,
  serverErrors,
  submitBody,
  visibleFields,
} from './fields';
import { patternReader, splitPhone } from './phone';
import { isPostalCode } from './postal';

const session = (changes: Partial<CheckoutSession> = {}): CheckoutSession => ({
  id: 'cs_1',
  status: 'open',
  payment_status: 'unpaid',
  stake_return_days: 14,
  mode: 'payment',
  currency_id: 'pc_1',
  line_items: [],
  expires_at: 0,
  livemode: false,
  ...changes,
});
const context = (changes: Partial<FieldContext> = {}): FieldContext => ({
  session: session(),
  card: false,
  locale: 'en',
  readPhone: patternReader,
  isPostalCode,
  ...changes,
});
const PAYMENT = { method: 'pm_1', currency: 'pc_1', total: '90' };
const defaults = prefilled({ name: 'Mei', email: 'mei@example.com' }, null, 'us');

describe('an email address', () => {
  test.each([
    [`${'a'.repeat(64)}@example.com`, true],
    [`${'a'.repeat(65)}@example.com`, false],
    [`a@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(60)}.example`, true],
    [`a@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(60)}.examples`, true],
    [`abc@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(60)}.examples`, false],
    ['mei@example', false],
    ['mei.@example.com', false],
    ['m..ei@example.com', false],
    ['mei+shop@sub.example.co.uk', true],
    ['mei example.com', false],
  ])('%s is valid: %s', (text, valid) => {
    expect(isEmail(text)).toBe(valid);
  });
});

describe('a postal code', () => {
  test.each([
    ['us', '94103', true],
    ['us', '94103-1234', true],
    ['us', '9410', false],
    ['gb', 'SW1A 1AA', true],
    ['gb', 'SW1A', false],
    ['cn', '100080', true],
    ['cn', '10008', false],
    ['ca', 'K1A 0B1', true],
    ['de', '1234', false],
    ['vu', 'anything', true],
  ])('in %s: %s is valid: %s', (country, code, valid) => {
    expect(isPostalCode(code, country)).toBe(valid);
  });
});

describe('a phone number without the library', () => {
  test.each([
    ['415 555 2671', 'us', '+14155552671'],
    ['07911 123456', 'gb', '+447911123456'],
    ['13800138000', 'cn', '+8613800138000'],
    ['+44 7911 123456', 'us', '+447911123456'],
    ['0044 7911 123456', 'us', '+447911123456'],
    ['12', 'us', null],
    ['call me', 'us', null],
  ])('%s in %s becomes %s', (text, country, number) => {
    expect(patternReader(text, country)).toBe(number);
  });

  test('a stored number is split into country and number', () => {
    expect(splitPhone('+8613800138000', 'us')).toEqual({ country: 'cn', number: '13800138000' });
    expect(splitPhone('+14155552671', 'ca')).toEqual({ country: 'ca', number: '4155552671' });
  });
});

describe('the form', () => {
  test('has name and email for a wallet', () => {
    expect(visibleFields(context())).toEqual(['customer_name', 'customer_email']);
  });

  test('has the postal code as well for a card', () => {
    expect(visibleFields(context({ card: true }))).toEqual([
      'customer_name',
      'customer_email',
      'billing_address.postal_code',
    ]);
  });

  test('has the whole address and the phone number if the session requires them', () => {
    const configured = session({ billing_address_collection: 'required', phone_number_collection: { enabled: true } });
    const errors = formErrors(defaults, context({ session: configured }));
    expect(Object.keys(errors)).toEqual([
      'customer_phone',
      'billing_address.country',
      'billing_address.line1',
      'billing_address.city',
      'billing_address.state',
      'billing_address.postal_code',
    ]);
  });

  test('validates against the seller’s pattern, with a message in the page language', () => {
    const rule = { pattern: '^[A-Z]', pattern_message: { en: 'Begin with a capital', zh: '首字母须大写' } };
    const validated = session({ metadata: { page_info: { field_validation: { customer_name: rule } } } });
    const values = { ...defaults, customer_name: 'mei' };
    expect(fieldError('customer_name', values, context({ session: validated }))).toEqual({
      text: 'Begin with a capital',
    });
    expect(fieldError('customer_name', values, context({ session: validated, locale: 'zh' }))).toEqual({
      text: '首字母须大写',
    });
  });

  test('falls back to the generic message, and ignores an invalid pattern', () => {
    const generic = session({ metadata: { page_info: { field_validation: { customer_name: { pattern: '^z' } } } } });
    expect(fieldError('customer_name', defaults, context({ session: generic }))).toEqual({
      key: 'form.invalid.generic',
    });
    const broken = session({ metadata: { page_info: { field_validation: { customer_name: { pattern: '(' } } } } });
    expect(fieldError('customer_name', defaults, context({ session: broken }))).toBeNull();
  });

  test('submits only its own fields, trimmed, with an international phone number', () => {
    const configured = session({ phone_number_collection: { enabled: true } });
    const values = { ...defaults, customer_name: ' Mei ', customer_phone: '13800138000', phone_country: 'cn' };
    expect(submitBody(values, context({ session: configured }), PAYMENT)).toEqual({
      customer_name: 'Mei',
      customer_email: 'mei@example.com',
      customer_phone: '+8613800138000',
      payment_method: 'pm_1',
      payment_currency: 'pc_1',
      billing_address: {},
      expected_total: '90',
    });
  });

  test('does not prefill a country that the customer did not enter', () => {
    const values = prefilled({ name: 'Customer' }, null, 'de');
    expect([values['billing_address.country'], values.phone_country]).toEqual(['', 'de']);
    const card = context({ card: true });
    const typed = { ...values, customer_email: 'mei@example.com', 'billing_address.postal_code': '94103' };
    expect(submitBody(typed, card, PAYMENT).billing_address).toEqual({ postal_code: '94103' });
  });

  test('is prefilled from the customer first, then from the account', () => {
    const user = { did: 'z1', fullName: 'Account', email: 'account@example.com' };
    const values = prefilled({ name: 'Customer', address: { country: 'CN', postal_code: '100080' } }, user, 'us');
    expect(values).toMatchObject({
      customer_name: 'Customer',
      customer_email: 'account@example.com',
      'billing_address.country': 'cn',
      'billing_address.postal_code': '100080',
    });
  });
});

test('the errors of the server are translated by their codes', () => {
  const message = { message: 'First and last name, please', message_zh: '请填写姓和名' };
  const fields = {
    customer_name: { code: 'PATTERN', params: message },
    customer_email: { code: 'INVALID' },
    'billing_address.city': { code: 'REQUIRED' },
    'billing_address.line1': { code: 'TOO_LONG', params: { max: '200' } },
    unknown: { code: 'REQUIRED' },
  } as const;
  expect(serverErrors(fields, 'zh')).toEqual({
    customer_name: { text: '请填写姓和名' },
    customer_email: { key: 'form.invalid.customer_email' },
    'billing_address.city': { key: 'form.missing.billing_address.city' },
    'billing_address.line1': { key: 'form.invalid.generic' },
  });
  expect(serverErrors({ customer_name: { code: 'PATTERN' } }, 'en')).toEqual({
    customer_name: { key: 'form.invalid.generic' },
  });
});
