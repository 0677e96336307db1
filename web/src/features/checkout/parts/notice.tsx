import type { ReactNode } from 'react';
import { Button, ButtonLink } from '@/kit/button';
import { pageAt } from '../rules/view';
import { t } from '../text';

interface NoticeProps {
  title: string;
  text: string;
  detail?: string;
  /** Something other than the store to go on with; comes first. */
  action?: ReactNode;
}

/** A page that cannot take a payment: says why, that no money moved, and one way on. */
export function Notice({ title, text, detail, action }: NoticeProps) {
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

export function Oops({ text, onRetry }: { text: string; onRetry: () => void }) {
  return (
    <Notice
      title={t('state.oopsTitle')}
      text={text}
      detail={t('state.oopsMoney')}
      action={
        <Button variant="primary" onClick={onRetry}>
          {t('action.retry')}
        </Button>
      }
    />
  );
}
