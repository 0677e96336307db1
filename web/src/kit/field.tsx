import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes } from 'react';
import { Check, Chevron, Warning } from './icons';

interface FrameProps {
  id: string;
  label: ReactNode;
  /** Stands between label and control, and is read with it. */
  hint?: ReactNode;
  error?: string;
  /** The word behind the label of a field that may stay empty. */
  optional?: string;
  /** The label is read, not shown; only for a control whose group already has one. */
  labelSrOnly?: boolean;
  /** What was typed has been looked at and is right: a mark says so to the eye, the silence of the error to the ear. */
  valid?: boolean;
}

/** What a control says of itself: its hint, its error, whether it is wrong. */
export function described({ id, hint, error }: Pick<FrameProps, 'id' | 'hint' | 'error'>) {
  const by = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ');
  return { id, 'aria-describedby': by || undefined, 'aria-invalid': error ? (true as const) : undefined };
}

/** Label above, hint below it, error under the control; the error is polite, its field's form says when it matters. */
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
    /** A dialog gives this field the focus when it opens. */
    'data-first'?: true;
  };

export function TextField({ id, label, hint, error, optional, labelSrOnly, valid, ...input }: TextFieldProps) {
  return (
    <FieldFrame {...{ id, label, hint, error, optional, labelSrOnly, valid }}>
      <input type="text" {...input} {...described({ id, hint, error })} className="k-input" />
    </FieldFrame>
  );
}

export type SelectFieldProps = FrameProps & Omit<SelectHTMLAttributes<HTMLSelectElement>, 'id'>;

export function SelectField({ id, label, hint, error, optional, labelSrOnly, children, ...select }: SelectFieldProps) {
  return (
    <FieldFrame {...{ id, label, hint, error, optional, labelSrOnly }}>
      <Select {...select} {...described({ id, hint, error })}>
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
