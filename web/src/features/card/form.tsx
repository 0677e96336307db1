import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { TextField } from '@/kit/field';
import { afterPointerUp } from '@/kit/pointer';
import {
  CARD_FIELDS,
  type CardField,
  type CardValues,
  cardError,
  groupedExpiry,
  groupedNumber,
  TEST_CARDS,
} from './rules';
import { type Key, t } from './text';

const INPUTS: Record<CardField, { autoComplete: string; inputMode?: 'numeric'; maxLength: number }> = {
  number: { autoComplete: 'cc-number', inputMode: 'numeric', maxLength: 24 },
  expiry: { autoComplete: 'cc-exp', inputMode: 'numeric', maxLength: 9 },
  cvc: { autoComplete: 'cc-csc', inputMode: 'numeric', maxLength: 4 },
  name: { autoComplete: 'cc-name', maxLength: 120 },
};

const formatted = (field: CardField, text: string) =>
  field === 'number' ? groupedNumber(text) : field === 'expiry' ? groupedExpiry(text) : text;

interface CardFormProps {
  /** The label of the submit button. */
  action: string;
  initial: CardValues;
  /** The last decline; the entered values stay. */
  decline: string | null;
  onConfirm: (values: CardValues) => void;
}

/** The form for the sandbox processor. Real keys use the form of their processor. */
export function CardForm({ action, initial, decline, onConfirm }: CardFormProps) {
  const [values, setValues] = useState(initial);
  const [errors, setErrors] = useState<Partial<Record<CardField, Key>>>({});
  const dirty = useRef(new Set<CardField>());
  // After a decline, the card number is most likely to change.
  useEffect(() => {
    if (decline) document.getElementById('card_number')?.focus();
  }, [decline]);
  const check = (field: CardField, current: CardValues) => cardError(field, current, new Date()) ?? undefined;

  const change = (field: CardField, element: HTMLInputElement) => {
    dirty.current.add(field);
    const typed = element.value;
    // Deleting a separator must not add it again.
    const shrinking = typed.length < values[field].length;
    const next = { ...values, [field]: shrinking ? typed : formatted(field, typed) };
    setValues(next);
    if (errors[field]) setErrors({ ...errors, [field]: check(field, next) });
  };
  const validate = (field: CardField) => {
    if (!dirty.current.has(field)) return;
    const error = check(field, values);
    afterPointerUp(() => setErrors((shown) => ({ ...shown, [field]: error })));
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    const nextErrors = Object.fromEntries(CARD_FIELDS.map((field) => [field, check(field, values)]));
    setErrors(nextErrors);
    const first = CARD_FIELDS.find((field) => nextErrors[field]);
    if (first) document.getElementById(`card_${first}`)?.focus();
    else onConfirm(values);
  };
  const fillTestCard = (number: string) => {
    const year = (new Date().getFullYear() + 4) % 100;
    const next = { ...values, number: groupedNumber(number), expiry: `12 / ${year}`, cvc: '123' };
    setValues(next);
    setErrors({});
  };
  const field = (name: CardField, hint?: string) => {
    const error = errors[name];
    return (
      <TextField
        id={`card_${name}`}
        name={`card_${name}`}
        label={t(`${name}`)}
        hint={hint}
        error={error && t(error)}
        value={values[name]}
        required
        data-first={name === 'number' || undefined}
        spellCheck={false}
        enterKeyHint={name === 'name' ? 'go' : 'next'}
        onChange={(event) => change(name, event.target)}
        onBlur={() => validate(name)}
        {...INPUTS[name]}
      />
    );
  };

  return (
    <form className="card-form" noValidate onSubmit={onSubmit} aria-label={t('title')}>
      {decline && (
        <Alert severity="danger" urgent title={decline}>
          <p>{t('declinedHint')}</p>
        </Alert>
      )}
      {field('number')}
      <div className="card-row">
        {field('expiry')}
        {field('cvc')}
      </div>
      {field('name')}
      <Button type="submit" variant="primary" wide>
        {action}
      </Button>
      <TestCards onUse={fillTestCard} />
    </form>
  );
}

function TestCards({ onUse }: { onUse: (number: string) => void }) {
  return (
    <details className="card-tests">
      <summary>{t('testTitle')}</summary>
      <p className="k-hint">{t('testHint')}</p>
      <ul>
        {TEST_CARDS.map(({ number, name }) => (
          <li key={number}>
            <span>
              <span className="card-test-name">{t(name)}</span>
              <span className="k-hint figures">{groupedNumber(number)}</span>
            </span>
            <Button onClick={() => onUse(number)} aria-label={t('testUseOf', { name: t(name) })}>
              {t('testUse')}
            </Button>
          </li>
        ))}
      </ul>
    </details>
  );
}
