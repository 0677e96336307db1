import type { AnchorHTMLAttributes, ButtonHTMLAttributes } from 'react';
import { Spinner } from './icons';

export type ButtonVariant = 'primary' | 'secondary' | 'quiet' | 'danger';

interface SharedProps {
  variant?: ButtonVariant;
  wide?: boolean;
}

export interface ButtonProps extends SharedProps, ButtonHTMLAttributes<HTMLButtonElement> {
  /** Shows a spinner, disables the button and sets `aria-busy`. */
  loading?: boolean;
}

const classes = (variant: ButtonVariant, wide?: boolean, className?: string) =>
  ['k-button', `k-button-${variant}`, wide ? 'k-wide' : '', className ?? ''].filter(Boolean).join(' ');

export function Button({ variant = 'secondary', wide, loading, disabled, className, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes(variant, wide, className)}
      disabled={disabled || loading}
      aria-busy={loading || undefined}
    >
      {loading && <Spinner />}
      {children}
    </button>
  );
}

/** A link styled as a button, for navigation. */
export function ButtonLink({
  variant = 'secondary',
  wide,
  className,
  children,
  ...rest
}: SharedProps & AnchorHTMLAttributes<HTMLAnchorElement>) {
  return (
    <a {...rest} className={classes(variant, wide, className)}>
      {children}
    </a>
  );
}
