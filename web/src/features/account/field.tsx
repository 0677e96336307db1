import { useId } from 'react';
import { useTexts } from '@/app/i18n';
import styles from './profile.module.css';

interface FieldProps {
  name: string;
  label: string;
  value: string;
  autoComplete: string;
  error?: string;
  hint?: string;
  type?: string;
  className?: string;
  optional?: boolean;
  onChange: (value: string) => void;
  onBlur: () => void;
}

/** A labelled input whose hint and error are tied to it; the error is announced when it appears. */
export function Field({
  name,
  label,
  value,
  autoComplete,
  error,
  hint,
  type = 'text',
  className,
  optional,
  onChange,
  onBlur,
}: FieldProps) {
  const { t } = useTexts();
  const id = useId();
  const described = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ');
  return (
    <div className={`${styles.field} ${className ?? ''}`}>
      <label htmlFor={id}>
        {label} {optional ? <span>{t('profile.optional')}</span> : null}
      </label>
      <input
        id={id}
        name={name}
        type={type}
        value={value}
        autoComplete={autoComplete}
        required={!optional}
        aria-invalid={error ? true : undefined}
        aria-describedby={described || undefined}
        onChange={(event) => onChange(event.target.value)}
        onBlur={onBlur}
      />
      {hint ? (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      ) : null}
      <p id={`${id}-error`} role="alert" className={styles.error} hidden={!error}>
        {error}
      </p>
    </div>
  );
}
