import type { AnchorHTMLAttributes, ButtonHTMLAttributes } from 'react';
import { Spinner } from './icons';

export type ButtonVariant = 'primary' | 'secondary' | 'quiet' | 'danger';

interface Shared {
  variant?: ButtonVariant;
  wide?: boolean;
}

export interface ButtonProps extends Shared, ButtonHTMLAttributes<HTMLButtonElement> {
  /** Work is under way: the button cannot be pressed and says so to screen readers. */
  loading?: boolean;
}

const classes = (variant: ButtonVariant, wide?: boolean, more?: string) =>
  ['k-button', `k-button-${variant}`, wide ? 'k-wide' : '', more ?? ''].filter(Boolean).join(' ');

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

/** A link that looks like a button: it goes somewhere. */
export function ButtonLink({
  variant = 'secondary',
  wide,
  className,
  children,
  ...rest
}: Shared & AnchorHTMLAttributes<HTMLAnchorElement>) {
  return (
    <a {...rest} className={classes(variant, wide, className)}>
      {children}
    </a>
  );
}
