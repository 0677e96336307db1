import { useCallback, useEffect, useRef, useState } from 'react';
import { afterPointerUp } from '@/kit/pointer';
import { suggestedCountry } from '@/lib/countries';
import {
  addressRequired,
  type FieldContext,
  type FieldErrors,
  type FieldName,
  type FormValues,
  fieldError,
  formErrors,
  prefilled,
  visibleFields,
} from '../rules/fields';
import { loadPhoneReader, type PhoneReader, patternReader } from '../rules/phone';
import type { CheckoutSession, Customer, SessionUser } from '../types';

const anyCode: FieldContext['isPostalCode'] = () => true;

/** The server checks postal codes if the rules fail to load. */
const loadPostal = () =>
  import('../rules/postal').then(
    ({ isPostalCode }) => isPostalCode,
    () => anyCode,
  );

export interface Form {
  values: FormValues;
  /** Errors to show: of fields that were blurred, or all after a submit. A key without an error marks a valid field. */
  errors: FieldErrors;
  context: FieldContext;
  change: (name: keyof FormValues, value: string) => void;
  validate: (name: FieldName) => void;
  /** Loads the phone number rules when a phone field gets the focus. */
  preparePhone: () => void;
  /** Validates all fields and shows the errors. Resolves with the context used and the errors. */
  check: () => Promise<{ context: FieldContext; errors: FieldErrors }>;
  /** Shows errors from the server. */
  showErrors: (errors: FieldErrors) => void;
}

interface FormInput {
  session: CheckoutSession;
  customer: Customer | null | undefined;
  user: SessionUser | null;
  card: boolean;
  locale: string;
}

export function useForm({ session, customer, user, card, locale }: FormInput): Form {
  const [values, setValues] = useState(() => prefilled(customer, user, suggestedCountry(navigator.languages)));
  const [errors, setErrors] = useState<FieldErrors>({});
  const [readPhone, setReader] = useState<PhoneReader>(() => patternReader);
  const dirty = useRef(new Set<keyof FormValues>());
  const [isPostalCode, setPostal] = useState(() => anyCode);
  const context: FieldContext = { session, card, locale, readPhone, isPostalCode };
  const address = card || addressRequired(session);
  useEffect(() => {
    if (address) loadPostal().then((rule) => setPostal(() => rule));
  }, [address]);

  // Signing in fills empty fields; entered values stay.
  useEffect(() => {
    const defaults = prefilled(customer, user, suggestedCountry(navigator.languages));
    setValues((typed) => {
      const next = { ...defaults };
      for (const name of dirty.current) next[name] = typed[name];
      return next;
    });
  }, [customer, user]);

  const change = useCallback(
    (name: keyof FormValues, value: string) => {
      dirty.current.add(name);
      const nextValues = { ...values, [name]: value };
      setValues(nextValues);
      const checked: FieldName[] = name === 'phone_country' ? ['customer_phone'] : [name];
      if (name === 'billing_address.country') checked.push('billing_address.postal_code');
      setErrors((current) => {
        const next = { ...current };
        for (const field of checked) {
          if (next[field])
            next[field] =
              fieldError(field, nextValues, { session, card, locale, readPhone, isPostalCode }) ?? undefined;
          // A field without an error is validated on blur only.
          else delete next[field];
        }
        return next;
      });
    },
    [values, session, card, locale, readPhone, isPostalCode],
  );

  const validate = (name: FieldName) => {
    if (!dirty.current.has(name)) return;
    const error = fieldError(name, values, context);
    afterPointerUp(() => setErrors((current) => ({ ...current, [name]: error ?? undefined })));
  };

  const preparePhone = useCallback(() => {
    loadPhoneReader().then((reader) => setReader(() => reader));
  }, []);

  const check = async () => {
    const reader = session.phone_number_collection?.enabled ? await loadPhoneReader() : readPhone;
    const fullContext = { ...context, readPhone: reader, isPostalCode: address ? await loadPostal() : isPostalCode };
    const newErrors = formErrors(values, fullContext);
    // All fields are validated now, so valid ones get their check mark.
    setErrors({ ...Object.fromEntries(visibleFields(fullContext).map((name) => [name, undefined])), ...newErrors });
    return { context: fullContext, errors: newErrors };
  };

  const showErrors = (newErrors: FieldErrors) => setErrors((current) => ({ ...current, ...newErrors }));

  return { values, errors, context, change, validate, preparePhone, check, showErrors };
}
