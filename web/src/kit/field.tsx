import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes } from 'react';
import { Check, Chevron, Warning } from './icons';

interface FrameProps {
  id: string;
  label: ReactNode;
  /** Shown between label and control, and part of the description. */
  hint?: ReactNode;
  error?: string;
  /** The suffix of an optional field's label. */
  optional?: string;
  /** Hides the label visually, for a control whose group has a visible label. */
  labelSrOnly?: boolean;
  /** Shows a check mark for a valid value. Screen readers rely on the absence of an error. */
  valid?: boolean;
}

/** The id and ARIA attributes that link a control to its hint and error. */
export function controlProps({ id, hint, error }: Pick<FrameProps, 'id' | 'hint' | 'error'>) {
  const describedBy = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ');
  return { id, 'aria-describedby': describedBy || undefined, 'aria-invalid': error ? (true as const) : undefined };
}

/** Lays out label, hint, control and error. The error is a polite live region. */
export function FieldFrame({
  id,
  label,
  hint,
  error,
  optional,
  labelSrOnly,
  valid,
  children,
}: FrameProps & { children: ReactNode }) {
  return (
    <div className="k-field" data-invalid={error ? '' : undefined}>
      <label htmlFor={id} className={labelSrOnly ? 'sr-only' : undefined}>
        {label} {optional && <span className="k-optional">{optional}</span>}
        {valid && <Check width={16} height={16} className="k-valid" />}
      </label>
      {hint && (
        <p id={`${id}-hint`} className="k-hint">
          {hint}
        </p>
      )}
      {children}
      <FieldError id={id} error={error} />
    </div>
  );
}

export function FieldError({ id, error }: { id: string; error?: string }) {
  return (
    <div aria-live="polite">
      {error && (
        <p id={`${id}-error`} className="k-error">
          <Warning width={16} height={16} />
          {error}
        </p>
      )}
    </div>
  );
}

export type TextFieldProps = FrameProps &
  Omit<InputHTMLAttributes<HTMLInputElement>, 'id'> & {
    /** Gets the focus when its dialog opens. */
    'data-first'?: true;
  };

export function TextField({ id, label, hint, error, optional, labelSrOnly, valid, ...input }: TextFieldProps) {
  return (
    <FieldFrame {...{ id, label, hint, error, optional, labelSrOnly, valid }}>
      <input type="text" {...input} {...controlProps({ id, hint, error })} className="k-input" />
    </FieldFrame>
  );
}

export type SelectFieldProps = FrameProps & Omit<SelectHTMLAttributes<HTMLSelectElement>, 'id'>;

export function SelectField({ id, label, hint, error, optional, labelSrOnly, children, ...select }: SelectFieldProps) {
  return (
    <FieldFrame {...{ id, label, hint, error, optional, labelSrOnly }}>
      <Select {...select} {...controlProps({ id, hint, error })}>
        {children}
      </Select>
    </FieldFrame>
  );
}

export function Select({ children, className, ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <span className={`k-select ${className ?? ''}`}>
      <select {...rest} className="k-input">
        {children}
      </select>
      <Chevron />
    </span>
  );
}
