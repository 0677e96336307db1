import type { FieldProblem } from '@/api/error';
import { isEmail } from '@/lib/email';
import type { Phrase } from '../text';
import type { CheckoutSession, Customer, FieldRule, Localized, PageInfo, SessionUser } from '../types';
import { type PhoneReader, splitPhone } from './phone';

/** Field names match the API, so that server errors can be assigned to fields. */
export const FIELDS = [
  'customer_name',
  'customer_email',
  'customer_phone',
  'billing_address.country',
  'billing_address.line1',
  'billing_address.line2',
  'billing_address.city',
  'billing_address.state',
  'billing_address.postal_code',
] as const;

export type FieldName = (typeof FIELDS)[number];

/** The values of the form. `phone_country` belongs to the phone field and is not sent. */
export type FormValues = Record<FieldName, string> & { phone_country: string };

/** The error of a field: a catalogue key, or a text of the seller. */
export type FieldError = Pick<Phrase, 'key'> | { text: string };
export type FieldErrors = Partial<Record<FieldName, FieldError>>;

export interface FieldContext {
  session: CheckoutSession;
  card: boolean;
  locale: string;
  readPhone: PhoneReader;
  /** Accepts any code until the country rules have loaded. */
  isPostalCode: (text: string, country: string) => boolean;
}

export const addressRequired = (session: CheckoutSession) => session.billing_address_collection === 'required';

/** The fields of this order, in display order. */
export function visibleFields({ session, card }: Pick<FieldContext, 'session' | 'card'>): FieldName[] {
  const visible: FieldName[] = ['customer_name', 'customer_email'];
  if (session.phone_number_collection?.enabled) visible.push('customer_phone');
  if (addressRequired(session)) {
    return [...visible, ...FIELDS.filter((name) => name.startsWith('billing_address.'))];
  }
  return card ? [...visible, 'billing_address.postal_code'] : visible;
}

/** The server's maximum lengths of a name and an address line, in characters. */
const NAME_MAX = 128;
export const LINE_MAX = 200;

export const isOptional = (name: FieldName) => name === 'billing_address.line2';

/** Validates a field: required, format, and the seller's pattern. */
export function fieldError(name: FieldName, values: FormValues, context: FieldContext): FieldError | null {
  const value = values[name].trim();
  if (!value) return isOptional(name) ? null : { key: `form.missing.${name}` };
  if (name === 'customer_name' && [...value].length > NAME_MAX) return { key: 'form.invalid.customer_name' };
  if (name === 'customer_email' && !isEmail(value)) return { key: 'form.invalid.customer_email' };
  if (name === 'customer_phone' && !context.readPhone(value, values.phone_country))
    return { key: 'form.invalid.customer_phone' };
  if (name === 'billing_address.postal_code' && !context.isPostalCode(value, values['billing_address.country'])) {
    return { key: 'form.invalid.billing_address.postal_code' };
  }
  return patternError(value, context.session.metadata?.page_info?.field_validation?.[name], context.locale);
}

function patternError(value: string, rule: FieldRule | undefined, locale: string): FieldError | null {
  if (!rule?.pattern) return null;
  let pattern: RegExp;
  try {
    pattern = new RegExp(rule.pattern);
  } catch {
    return null; // The server validates the same pattern.
  }
  if (pattern.test(value)) return null;
  return messageError(rule.pattern_message, locale);
}

function messageError(message: Localized | undefined, locale: string): FieldError {
  const text = localized(message, locale);
  return text ? { text } : { key: 'form.invalid.generic' };
}

/** The fields whose format has an error text of its own. */
const FORMATS = ['customer_name', 'customer_email', 'customer_phone', 'billing_address.postal_code'] as const;

/** The errors that the server found in fields of the form. */
export const serverErrors = (fields: Record<string, FieldProblem>, locale: string): FieldErrors =>
  Object.fromEntries(
    FIELDS.filter((name) => name in fields).map((name) => [name, serverError(name, fields[name], locale)]),
  );

function serverError(name: FieldName, { code, params }: Partial<FieldProblem> = {}, locale: string): FieldError {
  if (code === 'REQUIRED') return { key: `form.missing.${name}` };
  if (code === 'PATTERN') return messageError({ en: params?.message, zh: params?.message_zh }, locale);
  const format = FORMATS.find((each) => each === name);
  return { key: format ? `form.invalid.${format}` : 'form.invalid.generic' };
}

export function localized(text: Localized | undefined, locale: string): string {
  return (locale === 'zh' ? text?.zh || text?.en : text?.en || text?.zh) ?? '';
}

export function purposeText(info: PageInfo | undefined, locale: string): string {
  return localized(info?.form_purpose_description, locale);
}

export function formErrors(values: FormValues, context: FieldContext): FieldErrors {
  const errors: FieldErrors = {};
  for (const name of visibleFields(context)) {
    const error = fieldError(name, values, context);
    if (error) errors[name] = error;
  }
  return errors;
}

/**
 * Prefills the form with the known customer data. `country` comes from the browser and only suggests a dial code; the
 * address gets a country only if the customer has chosen one.
 */
export function prefilled(
  customer: Customer | null | undefined,
  user: SessionUser | null,
  country: string,
): FormValues {
  const address = customer?.address ?? user?.address ?? {};
  const addressCountry = (address.country ?? '').toLowerCase();
  const phone = splitPhone(customer?.phone || user?.phone || '', addressCountry || country.toLowerCase());
  return {
    customer_name: customer?.name || customer?.fullName || user?.fullName || '',
    customer_email: customer?.email || user?.email || '',
    customer_phone: phone.number,
    phone_country: phone.country,
    'billing_address.country': addressCountry,
    'billing_address.line1': address.line1 ?? '',
    'billing_address.line2': address.line2 ?? '',
    'billing_address.city': address.city ?? '',
    'billing_address.state': address.state ?? '',
    'billing_address.postal_code': address.postal_code ?? '',
  };
}

export interface SubmitBody {
  customer_name: string;
  customer_email: string;
  customer_phone?: string;
  payment_method: string;
  payment_currency: string;
  billing_address: Record<string, string>;
  /** The shown total in base units, deposit included. */
  expected_total: string;
}

/** What the customer pays with and how much, as shown. */
export interface Payment {
  method: string;
  currency: string;
  total: string;
}

/** The submit body: only visible fields, with an international phone number. */
export function submitBody(
  values: FormValues,
  context: FieldContext,
  { method, currency, total }: Payment,
): SubmitBody {
  const visible = visibleFields(context);
  const address: Record<string, string> = {};
  // Postal codes are validated for a known country.
  if (visible.includes('billing_address.postal_code') && values['billing_address.country'])
    address.country = values['billing_address.country'];
  for (const name of visible) {
    if (name.startsWith('billing_address.') && values[name].trim())
      address[name.slice('billing_address.'.length)] = values[name].trim();
  }
  const phone = visible.includes('customer_phone')
    ? context.readPhone(values.customer_phone, values.phone_country)
    : null;
  return {
    customer_name: values.customer_name.trim(),
    customer_email: values.customer_email.trim(),
    ...(phone ? { customer_phone: phone } : {}),
    payment_method: method,
    payment_currency: currency,
    billing_address: address,
    expected_total: total,
  };
}
