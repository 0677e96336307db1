import { type KeyboardEvent, useEffect, useState } from 'react';
import { FieldError } from './field';
import { Minus, Plus } from './icons';

export interface StepperProps {
  id: string;
  label: string;
  decreaseLabel: string;
  increaseLabel: string;
  value: number;
  minimum: number;
  maximum: number;
  error?: string;
  disabled?: boolean;
  /** Returns null for invalid text; the parent then shows an error. */
  parse: (text: string) => number | null;
  onChange: (value: number | null) => void;
}

/** A quantity input with two buttons. Typed text is applied on blur or Enter. */
export function Stepper(props: StepperProps) {
  const { id, label, value, minimum, maximum, error, disabled } = props;
  const [text, setText] = useState(String(value));
  useEffect(() => setText(String(value)), [value]);

  const commit = () => {
    const next = props.parse(text);
    // After an error, the unchanged value is reported again to clear it.
    if (next !== value || error) props.onChange(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      commit();
    }
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = value + step;
    if (next >= minimum && next <= maximum) props.onChange(next);
  };

  return (
    <div className="k-stepper-field">
      <fieldset className="k-stepper" disabled={disabled}>
        <legend className="sr-only">{label}</legend>
        <button
          type="button"
          aria-label={props.decreaseLabel}
          disabled={value <= minimum}
          onClick={() => props.onChange(value - 1)}
        >
          <Minus />
        </button>
        <input
          id={id}
          className="figures"
          inputMode="numeric"
          autoComplete="off"
          aria-label={label}
          aria-invalid={error ? true : undefined}
          aria-describedby={error ? `${id}-error` : undefined}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onBlur={commit}
          onKeyDown={onKeyDown}
        />
        <button
          type="button"
          aria-label={props.increaseLabel}
          disabled={value >= maximum}
          onClick={() => props.onChange(value + 1)}
        >
          <Plus />
        </button>
      </fieldset>
      <FieldError id={id} error={error} />
    </div>
  );
}
