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
  shownFields,
} from '../rules/fields';
import { loadPhoneReader, type PhoneReader, patternReader } from '../rules/phone';
import type { CheckoutSession, Customer, SessionUser } from '../wire';

const anyCode: FieldContext['isPostalCode'] = () => true;

/** Without its rules a code is left to the server. */
const loadPostal = () =>
  import('../rules/postal').then(
    ({ isPostalCode }) => isPostalCode,
    () => anyCode,
  );

export interface Form {
  values: FormValues;
  /** Only what may be said already: after leaving a field, or after an attempt to pay. Nothing under a name: it is right. */
  errors: FieldErrors;
  context: FieldContext;
  change: (name: keyof FormValues, value: string) => void;
  leave: (name: FieldName) => void;
  /** Number rules are loaded when somebody is about to type a number. */
  preparePhone: () => void;
  /** Checks everything and shows it. Resolves with the context that was used, or null when something is wrong. */
  check: () => Promise<{ context: FieldContext; errors: FieldErrors }>;
  /** Shows what the server found wrong. */
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

  // Signing in on this page fills what is still empty; what was typed stays.
  useEffect(() => {
    const known = prefilled(customer, user, suggestedCountry(navigator.languages));
    setValues((typed) => {
      const next = { ...known };
      for (const name of dirty.current) next[name] = typed[name];
      return next;
    });
  }, [customer, user]);

  const change = useCallback(
    (name: keyof FormValues, value: string) => {
      dirty.current.add(name);
      const next = { ...values, [name]: value };
      setValues(next);
      const checked: FieldName[] = name === 'phone_country' ? ['customer_phone'] : [name];
      if (name === 'billing_address.country') checked.push('billing_address.postal_code');
      setErrors((shown) => {
        const left = { ...shown };
        for (const field of checked) {
          if (left[field])
            left[field] = fieldError(field, next, { session, card, locale, readPhone, isPostalCode }) ?? undefined;
          // What is being typed is not looked at before the field is left.
          else delete left[field];
        }
        return left;
      });
    },
    [values, session, card, locale, readPhone, isPostalCode],
  );

  const leave = (name: FieldName) => {
    if (!dirty.current.has(name)) return;
    const error = fieldError(name, values, context);
    afterPointerUp(() => setErrors((shown) => ({ ...shown, [name]: error ?? undefined })));
  };

  const preparePhone = useCallback(() => {
    loadPhoneReader().then((reader) => setReader(() => reader));
  }, []);

  const check = async () => {
    const reader = session.phone_number_collection?.enabled ? await loadPhoneReader() : readPhone;
    const used = { ...context, readPhone: reader, isPostalCode: address ? await loadPostal() : isPostalCode };
    const found = formErrors(values, used);
    // All of them have been looked at now: what is right is marked so.
    setErrors({ ...Object.fromEntries(shownFields(used).map((name) => [name, undefined])), ...found });
    return { context: used, errors: found };
  };

  const showErrors = (found: FieldErrors) => setErrors((shown) => ({ ...shown, ...found }));

  return { values, errors, context, change, leave, preparePhone, check, showErrors };
}
