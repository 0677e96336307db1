import type { AnchorHTMLAttributes, ButtonHTMLAttributes } from 'react';
import { Spinner } from './icons';

type Look = 'primary' | 'secondary' | 'quiet' | 'danger';

interface Shared {
  look?: Look;
  wide?: boolean;
}

export interface ButtonProps extends Shared, ButtonHTMLAttributes<HTMLButtonElement> {
  /** Work is under way: the button cannot be pressed and says so to screen readers. */
  busy?: boolean;
}

const classes = (look: Look, wide?: boolean, more?: string) =>
  ['k-button', `k-button-${look}`, wide ? 'k-wide' : '', more ?? ''].filter(Boolean).join(' ');

export function Button({ look = 'secondary', wide, busy, disabled, className, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes(look, wide, className)}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
    >
      {busy && <Spinner />}
      {children}
    </button>
  );
}

/** A link that looks like a button: it goes somewhere. */
export function ButtonLink({
  look = 'secondary',
  wide,
  className,
  children,
  ...rest
}: Shared & AnchorHTMLAttributes<HTMLAnchorElement>) {
  return (
    <a {...rest} className={classes(look, wide, className)}>
      {children}
    </a>
  );
}
