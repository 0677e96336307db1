import { describe, expect, test } from 'vitest';
import { isEmail } from '@/lib/email';
import type { CheckoutSession } from '../wire';
import { type FieldContext, fieldError, formErrors, prefilled, shownFields, submitBody } from './fields';
import { patternReader, splitPhone } from './phone';
import { isPostalCode } from './postal';

const session = (changes: Partial<CheckoutSession> = {}): CheckoutSession => ({
  id: 'cs_1',
  status: 'open',
  payment_status: 'unpaid',
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
const known = prefilled({ name: 'Mei', email: 'mei@example.com' }, null, 'us');

describe('an e-mail address', () => {
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

describe('a phone number, without the library', () => {
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
  test('asks for name and e-mail only when a wallet pays', () => {
    expect(shownFields(context())).toEqual(['customer_name', 'customer_email']);
  });

  test('asks for the postal code as well when a card pays', () => {
    expect(shownFields(context({ card: true }))).toEqual([
      'customer_name',
      'customer_email',
      'billing_address.postal_code',
    ]);
  });

  test('asks for the whole address and phone when the seller wants them', () => {
    const wanted = session({ billing_address_collection: 'required', phone_number_collection: { enabled: true } });
    const errors = formErrors(known, context({ session: wanted }));
    expect(Object.keys(errors)).toEqual([
      'customer_phone',
      'billing_address.country',
      'billing_address.line1',
      'billing_address.city',
      'billing_address.state',
      'billing_address.postal_code',
    ]);
  });

  test('applies the pattern of the seller in the language of the page', () => {
    const rule = { pattern: '^[A-Z]', pattern_message: { en: 'Begin with a capital', zh: '首字母须大写' } };
    const ruled = session({ metadata: { page_info: { field_validation: { customer_name: rule } } } });
    const values = { ...known, customer_name: 'mei' };
    expect(fieldError('customer_name', values, context({ session: ruled }))).toEqual({ text: 'Begin with a capital' });
    expect(fieldError('customer_name', values, context({ session: ruled, locale: 'zh' }))).toEqual({
      text: '首字母须大写',
    });
  });

  test('falls back to the generic message, and leaves a broken pattern to the server', () => {
    const generic = session({ metadata: { page_info: { field_validation: { customer_name: { pattern: '^z' } } } } });
    expect(fieldError('customer_name', known, context({ session: generic }))).toEqual({ key: 'form.invalid.generic' });
    const broken = session({ metadata: { page_info: { field_validation: { customer_name: { pattern: '(' } } } } });
    expect(fieldError('customer_name', known, context({ session: broken }))).toBeNull();
  });

  test('sends only what it asked for, trimmed, the number in international form', () => {
    const wanted = session({ phone_number_collection: { enabled: true } });
    const values = { ...known, customer_name: ' Mei ', customer_phone: '13800138000', phone_country: 'cn' };
    expect(submitBody(values, context({ session: wanted }), 'pm_1', 'pc_1')).toEqual({
      customer_name: 'Mei',
      customer_email: 'mei@example.com',
      customer_phone: '+8613800138000',
      payment_method: 'pm_1',
      payment_currency: 'pc_1',
      billing_address: {},
    });
  });

  test('has no country that the customer did not enter', () => {
    const values = prefilled({ name: 'Customer' }, null, 'de');
    expect([values['billing_address.country'], values.phone_country]).toEqual(['', 'de']);
    const card = context({ card: true });
    const typed = { ...values, customer_email: 'mei@example.com', 'billing_address.postal_code': '94103' };
    expect(submitBody(typed, card, 'pm_1', 'pc_1').billing_address).toEqual({ postal_code: '94103' });
  });

  test('takes what is known of the customer before what the account says', () => {
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
