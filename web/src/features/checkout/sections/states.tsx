import type { ReactNode } from 'react';
import { Button, ButtonLink } from '@/kit/button';
import { pageAt } from '../rules/view';
import { t } from '../text';

interface EmptyStateProps {
  title: string;
  text: string;
  detail?: string;
  /** The primary action, before the link to the store. */
  action?: ReactNode;
}

/** A page without a payment form: the reason and how to continue. */
export function EmptyState({ title, text, detail, action }: EmptyStateProps) {
  return (
    <section className="checkout-notice" role="alert">
      <h1>{title}</h1>
      <p className="checkout-reason">{text}</p>
      {detail && <p className="checkout-detail">{detail}</p>}
      <div className="checkout-actions">
        {action}
        <ButtonLink href={pageAt('/')} variant={action ? 'secondary' : 'primary'}>
          {t('nav.toStore')}
        </ButtonLink>
      </div>
    </section>
  );
}

/** Without `onRetry` another attempt would fail in the same way. */
export function ErrorState({ text, onRetry }: { text: string; onRetry?: () => void }) {
  return (
    <EmptyState
      title={t('state.oopsTitle')}
      text={text}
      detail={t('state.oopsMoney')}
      action={
        onRetry && (
          <Button variant="primary" onClick={onRetry}>
            {t('action.retry')}
          </Button>
        )
      }
    />
  );
}
