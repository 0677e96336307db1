import { useMemo } from 'react';
import { controlProps, FieldFrame, Select, SelectField, TextField } from '@/kit/field';
import { countries } from '@/lib/countries';
import type { Form } from '../hooks/use-form';
import {
  addressRequired,
  type FieldError,
  type FieldName,
  isOptional,
  LINE_MAX,
  purposeText,
  visibleFields,
} from '../rules/fields';
import { t } from '../text';
import type { CheckoutSession } from '../types';

export const errorText = (error: FieldError | undefined): string | undefined =>
  error && ('text' in error ? error.text : t(error.key));

/** Autofill tokens, and the keyboard on phones. */
const INPUTS: Record<FieldName, { autoComplete: string; type?: string; inputMode?: 'email' | 'tel' }> = {
  customer_name: { autoComplete: 'name' },
  customer_email: { autoComplete: 'email', type: 'email', inputMode: 'email' },
  customer_phone: { autoComplete: 'tel-national', type: 'tel', inputMode: 'tel' },
  'billing_address.country': { autoComplete: 'billing country' },
  'billing_address.line1': { autoComplete: 'billing address-line1' },
  'billing_address.line2': { autoComplete: 'billing address-line2' },
  'billing_address.city': { autoComplete: 'billing address-level2' },
  'billing_address.state': { autoComplete: 'billing address-level1' },
  'billing_address.postal_code': { autoComplete: 'billing postal-code' },
};

/** The contact and address fields that this order needs. */
export function Fields({ form, isFree }: { form: Form; isFree: boolean }) {
  const { session, locale } = form.context;
  const visible = visibleFields(form.context);
  const last = visible[visible.length - 1];
  const purpose = purposeText(session.metadata?.page_info ?? undefined, locale);
  const contact = visible.filter((name) => !name.startsWith('billing_address.'));
  const address = visible.filter((name) => name.startsWith('billing_address.'));
  const field = (name: FieldName) => <FormField key={name} name={name} {...{ form, isFree }} last={name === last} />;

  return (
    <>
      <fieldset className="checkout-group">
        <legend>
          <h2>{t('form.contact')}</h2>
        </legend>
        {purpose && <p className="checkout-detail">{purpose}</p>}
        {contact.map(field)}
      </fieldset>
      {address.length > 0 && (
        <fieldset className="checkout-group" data-short={addressRequired(session) ? undefined : ''}>
          <legend>
            <h2>{t('form.address')}</h2>
          </legend>
          {address.map(field)}
        </fieldset>
      )}
    </>
  );
}

interface FormFieldProps {
  name: FieldName;
  form: Form;
  isFree: boolean;
  last: boolean;
}

/** Which email follows: a receipt, the confirmation of a start without a payment, or none when a method is saved. */
function mailHint(mode: CheckoutSession['mode'], isFree: boolean): string | undefined {
  if (mode === 'setup') return undefined;
  return t(isFree && mode === 'subscription' ? 'form.hint.confirmation' : 'form.hint.customer_email');
}

function FormField({ name, form, isFree, last }: FormFieldProps) {
  const sharedProps = {
    id: name,
    name,
    label: t(`form.label.${name}`),
    value: form.values[name],
    error: errorText(form.errors[name]),
    autoComplete: INPUTS[name].autoComplete,
    onBlur: () => form.validate(name),
  };
  const valid = name in form.errors && !form.errors[name] && form.values[name] !== '';
  if (name === 'billing_address.country') return <CountryField {...sharedProps} form={form} />;
  const input = {
    ...INPUTS[name],
    enterKeyHint: last ? ('go' as const) : ('next' as const),
    required: !isOptional(name),
    valid,
    onChange: (event: { target: { value: string } }) => form.change(name, event.target.value),
  };
  if (name === 'customer_phone') return <PhoneField {...sharedProps} {...input} form={form} />;
  return (
    <TextField
      {...sharedProps}
      {...input}
      hint={name === 'customer_email' ? mailHint(form.context.session.mode, isFree) : undefined}
      optional={isOptional(name) ? t('form.optional') : undefined}
      autoCapitalize={name === 'customer_email' ? 'none' : undefined}
      spellCheck={false}
      maxLength={name === 'customer_email' ? 254 : LINE_MAX}
    />
  );
}

interface SharedProps {
  id: string;
  name: string;
  label: string;
  value: string;
  error?: string;
  autoComplete: string;
  onBlur: () => void;
  form: Form;
}

function CountryField({ form, ...sharedProps }: SharedProps) {
  const list = useMemo(() => countries(form.context.locale), [form.context.locale]);
  return (
    <SelectField
      {...sharedProps}
      required
      onChange={(event) => form.change('billing_address.country', event.target.value)}
    >
      <option value="" disabled hidden>
        {t('form.chooseCountry')}
      </option>
      {list.map(({ code, name }) => (
        <option key={code} value={code}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}

type PhoneProps = SharedProps & {
  type?: string;
  inputMode?: 'email' | 'tel';
  enterKeyHint: 'go' | 'next';
  required: boolean;
  valid: boolean;
  onChange: (event: { target: { value: string } }) => void;
};

function PhoneField({ form, id, label, error, valid, ...input }: PhoneProps) {
  const list = useMemo(() => countries(form.context.locale), [form.context.locale]);
  const hint = t('form.hint.customer_phone');
  const country = form.values.phone_country;
  const dial = list.find((each) => each.code === country)?.dial;
  return (
    <FieldFrame {...{ id, label, hint, error, valid }}>
      <div className="checkout-phone">
        <span className="checkout-dial">
          <span className="checkout-dial-shown figures" aria-hidden="true">
            {country.toUpperCase()} +{dial}
          </span>
          <Select
            aria-label={t('form.label.phone_country')}
            name="phone_country"
            autoComplete="tel-country-code"
            value={country}
            onFocus={form.preparePhone}
            onChange={(event) => form.change('phone_country', event.target.value)}
          >
            {list.map(({ code, name, dial: prefix }) => (
              <option key={code} value={code}>
                {name} +{prefix}
              </option>
            ))}
          </Select>
        </span>
        <input {...input} {...controlProps({ id, hint, error })} className="k-input" onFocus={form.preparePhone} />
      </div>
    </FieldFrame>
  );
}
