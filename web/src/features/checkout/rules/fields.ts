import { isEmail } from '@/lib/email';
import type { Phrase } from '../text';
import type { CheckoutSession, Customer, FieldRule, Localized, PageInfo, SessionUser } from '../wire';
import { type PhoneReader, splitPhone } from './phone';

/** The names of the form's fields are those of the wire, so that a refusal of the server finds its field. */
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

/** What stands in the form. `phone_country` belongs to the phone box and is not sent. */
export type FormValues = Record<FieldName, string> & { phone_country: string };

/** Why a field is refused: a word of the catalogue, or a sentence that the seller or the server wrote. */
export type FieldError = Pick<Phrase, 'key'> | { text: string };
export type FieldErrors = Partial<Record<FieldName, FieldError>>;

export interface FieldContext {
  session: CheckoutSession;
  card: boolean;
  locale: string;
  readPhone: PhoneReader;
  /** Any code passes until the rules of the countries are there. */
  isPostalCode: (text: string, country: string) => boolean;
}

export const addressRequired = (session: CheckoutSession) => session.billing_address_collection === 'required';

/** The fields this order asks for, in the order of the form. */
export function shownFields({ session, card }: Pick<FieldContext, 'session' | 'card'>): FieldName[] {
  const shown: FieldName[] = ['customer_name', 'customer_email'];
  if (session.phone_number_collection?.enabled) shown.push('customer_phone');
  if (addressRequired(session)) {
    return [...shown, ...FIELDS.filter((name) => name.startsWith('billing_address.'))];
  }
  return card ? [...shown, 'billing_address.postal_code'] : shown;
}

/** What the server keeps of a name and of a line of an address, in characters. */
const NAME_MAX = 128;
export const LINE_MAX = 200;

export const isOptional = (name: FieldName) => name === 'billing_address.line2';

/** Checks one field: present, of its kind, and of the pattern the seller set for it. */
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
    return null; // The server holds the same rule and decides.
  }
  if (pattern.test(value)) return null;
  const text = localized(rule.pattern_message, locale);
  return text ? { text } : { key: 'form.invalid.generic' };
}

export function localized(text: Localized | undefined, locale: string): string {
  return (locale === 'zh' ? text?.zh || text?.en : text?.en || text?.zh) ?? '';
}

export function purposeText(info: PageInfo | undefined, locale: string): string {
  return localized(info?.form_purpose_description, locale);
}

export function formErrors(values: FormValues, context: FieldContext): FieldErrors {
  const errors: FieldErrors = {};
  for (const name of shownFields(context)) {
    const error = fieldError(name, values, context);
    if (error) errors[name] = error;
  }
  return errors;
}

/**
 * Fills the form with what is known of the customer, so that nothing is asked twice. `country` is where the browser may be: it
 * only suggests a dial code. An address has the country that the customer chose, or none.
 */
export function prefilled(
  customer: Customer | null | undefined,
  user: SessionUser | null,
  country: string,
): FormValues {
  const address = customer?.address ?? user?.address ?? {};
  const chosen = (address.country ?? '').toLowerCase();
  const phone = splitPhone(customer?.phone || user?.phone || '', chosen || country.toLowerCase());
  return {
    customer_name: customer?.name || customer?.fullName || user?.fullName || '',
    customer_email: customer?.email || user?.email || '',
    customer_phone: phone.number,
    phone_country: phone.country,
    'billing_address.country': chosen,
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
}

/** The body of submit: only what was asked for, the number in international form. */
export function submitBody(values: FormValues, context: FieldContext, method: string, currency: string): SubmitBody {
  const shown = shownFields(context);
  const address: Record<string, string> = {};
  // A postal code is read by the rules of the country that is known already.
  if (shown.includes('billing_address.postal_code') && values['billing_address.country'])
    address.country = values['billing_address.country'];
  for (const name of shown) {
    if (name.startsWith('billing_address.') && values[name].trim())
      address[name.slice('billing_address.'.length)] = values[name].trim();
  }
  const phone = shown.includes('customer_phone')
    ? context.readPhone(values.customer_phone, values.phone_country)
    : null;
  return {
    customer_name: values.customer_name.trim(),
    customer_email: values.customer_email.trim(),
    ...(phone ? { customer_phone: phone } : {}),
    payment_method: method,
    payment_currency: currency,
    billing_address: address,
  };
}
