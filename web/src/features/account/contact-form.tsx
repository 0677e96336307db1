import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { api } from '@/api/client';
import { ApiError } from '@/api/error';
import type { Customer } from '@/api/types';
import { useTexts } from '@/app/i18n';
import { Failed } from '@/app/notice';
import { queryClient } from '@/app/queries';
import { spokenError } from '@/i18n/spoken';
import { Button } from '@/kit/button';
import { countries } from '@/lib/countries';
import { emailIsValid, phoneIsValid } from './contact-rules';
import { Field } from './field';
import styles from './profile.module.css';

/** Fields by their name on the wire; those of the address are sent below `address`. */
const ADDRESS = ['country', 'state', 'city', 'line1', 'line2', 'postal_code'] as const;
type Name = 'name' | 'email' | 'phone' | (typeof ADDRESS)[number];
type Values = Record<Name, string>;
type Errors = Partial<Record<Name, string>>;

const customerQuery = {
  queryKey: ['customer'],
  queryFn: () => api.get<Customer>('/api/customers/me', { skipSummary: 1, fallback: 1 }),
};

function valuesOf(customer: Customer): Values {
  const address = customer.address ?? {};
  return {
    name: customer.name || customer.fullName || '',
    email: customer.email ?? '',
    phone: customer.phone ?? '',
    country: address.country?.toLowerCase() || '',
    state: address.state ?? '',
    city: address.city ?? '',
    line1: address.line1 ?? '',
    line2: address.line2 ?? '',
    postal_code: address.postal_code ?? '',
  };
}

export function ContactForm() {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(customerQuery);
  if (error && !data)
    return <Failed title={t('profile.error')} text={spokenError(error)} onRetry={() => void refetch()} />;
  if (!data) return <div style={{ height: 560 }} aria-busy="true" />;
  return <Loaded customer={data} />;
}

function Loaded({ customer }: { customer: Customer }) {
  const { t, language } = useTexts();
  const [values, setValues] = useState(() => valuesOf(customer));
  const [errors, setErrors] = useState<Errors>({});
  const form = useRef<HTMLFormElement>(null);
  const save = useMutation({
    mutationFn: ({ name, email, phone, ...address }: Values) =>
      api.put<Customer>('/api/customers/me', { name, email, phone, address }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['customer'] }),
    onError: (refusal) => show(refusal instanceof ApiError ? ownFields(refusal.fields) : {}),
  });

  const check = (name: Name, value: string): string | undefined => {
    if (name === 'name' && !value.trim()) return t('profile.required', { name: t('profile.name') });
    if (name === 'email' && !value.trim()) return t('profile.required', { name: t('profile.email') });
    if (name === 'email' && !emailIsValid(value.trim())) return t('profile.emailInvalid');
    if (name === 'phone' && value.trim() && !phoneIsValid(value)) return t('profile.phoneInvalid');
    return undefined;
  };

  const show = (next: Errors) => {
    setErrors(next);
    const first = Object.keys(next)[0];
    if (first) requestAnimationFrame(() => form.current?.querySelector<HTMLElement>(`[name="${first}"]`)?.focus());
  };

  const change = (name: Name, value: string) => {
    setValues((now) => ({ ...now, [name]: value }));
    save.reset();
    // A field that was wrong is checked again with each letter, so that it is right at once.
    if (errors[name]) setErrors((now) => ({ ...now, [name]: check(name, value) }));
  };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const names = Object.keys(values) as Name[];
    const wrong = Object.fromEntries(
      names.map((name) => [name, check(name, values[name])]).filter(([, text]) => text),
    ) as Errors;
    show(wrong);
    if (Object.keys(wrong).length === 0) save.mutate(values);
  };

  const field = (
    name: Name,
    label: string,
    autoComplete: string,
    more: { type?: string; hint?: string; className?: string; optional?: boolean } = {},
  ) => (
    <Field
      name={name}
      label={label}
      value={values[name]}
      error={errors[name]}
      autoComplete={autoComplete}
      onChange={(value) => change(name, value)}
      onBlur={() => setErrors((now) => ({ ...now, [name]: check(name, values[name]) }))}
      {...more}
    />
  );

  return (
    <form ref={form} className={styles.form} onSubmit={submit} noValidate>
      <div>
        <h2>{t('profile.contact')}</h2>
        <p className={styles.hint}>{t('profile.contactHint')}</p>
      </div>
      {field('name', t('profile.name'), 'name')}
      {field('email', t('profile.email'), 'email', { type: 'email' })}
      {field('phone', t('profile.phone'), 'tel', { type: 'tel', hint: t('profile.phoneHint'), optional: true })}
      <div className={styles.field}>
        <label htmlFor="profile-country">{t('profile.country')}</label>
        <select
          id="profile-country"
          name="country"
          autoComplete="billing country"
          value={values.country}
          onChange={(event) => change('country', event.target.value)}
        >
          <option value="">–</option>
          {countries(language).map(({ code, name }) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </select>
      </div>
      {field('line1', t('profile.line1'), 'billing address-line1', { optional: true })}
      {field('line2', t('profile.line2'), 'billing address-line2', { optional: true })}
      {field('city', t('profile.city'), 'billing address-level2', { className: styles.half, optional: true })}
      {field('state', t('profile.state'), 'billing address-level1', { className: styles.half, optional: true })}
      {field('postal_code', t('profile.postalCode'), 'billing postal-code', {
        className: styles.half,
        optional: true,
      })}
      <div className={styles.done}>
        <Button look="primary" type="submit" busy={save.isPending}>
          {t('profile.save')}
        </Button>
        <span role="status" className={styles.saved}>
          {save.isSuccess ? t('profile.saved') : ''}
        </span>
        {save.isError ? (
          <span role="alert" className={styles.error}>
            {t('profile.notSaved', { message: spokenError(save.error) })}
          </span>
        ) : null}
      </div>
    </form>
  );
}

/** The server names fields as the checkout does (`customer_email`, `billing_address.city`) or as they were sent. */
function ownFields(fields: Record<string, string>): Errors {
  return Object.fromEntries(
    Object.entries(fields).map(([path, text]) => [path.replace(/^(customer_|billing_address\.|address\.)/, ''), text]),
  ) as Errors;
}
