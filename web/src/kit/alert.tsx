import type { ReactNode, Ref } from 'react';
import { Check, Info, Warning } from './icons';

export interface AlertProps {
  severity: 'danger' | 'warn' | 'info' | 'ok';
  title?: ReactNode;
  children?: ReactNode;
  /** Announced at once by screen readers; for errors that just occurred. */
  urgent?: boolean;
  ref?: Ref<HTMLDivElement>;
}

export function Alert({ severity, title, children, urgent, ref }: AlertProps) {
  const Icon = severity === 'ok' ? Check : severity === 'info' ? Info : Warning;
  return (
    <div ref={ref} tabIndex={-1} className={`k-alert k-alert-${severity}`} role={urgent ? 'alert' : undefined}>
      <Icon />
      <div>
        {title && <p className="k-alert-title">{title}</p>}
        {children}
      </div>
    </div>
  );
}
