import type { ReactNode } from 'react';
import { useTexts } from '@/app/i18n';
import { Button } from '@/kit/button';
import styles from './states.module.css';

interface EmptyStateProps {
  title: string;
  text?: string;
  /** A link or button to continue. */
  action?: ReactNode;
  /** Renders the title as h1, if the page has no other heading. */
  asPage?: boolean;
  alert?: boolean;
}

/** A page or section without content: a message and an action. */
export function EmptyState({ title, text, action, asPage = false, alert = false }: EmptyStateProps) {
  const Heading = asPage ? 'h1' : 'p';
  return (
    <div className={styles.state} role={alert ? 'alert' : undefined}>
      <Heading className={styles.title}>{title}</Heading>
      {text ? <p className={styles.text}>{text}</p> : null}
      {action}
    </div>
  );
}

interface ErrorStateProps {
  title: string;
  text?: string;
  /** Renders the title as h1. */
  asPage?: boolean;
  onRetry: () => void;
}

/** A section that failed to load, with a retry button. */
export function ErrorState({ title, text, asPage, onRetry }: ErrorStateProps) {
  const { t } = useTexts();
  const retryButton = <Button onClick={onRetry}>{t('action.retry')}</Button>;
  return <EmptyState alert asPage={asPage} title={title} text={text} action={retryButton} />;
}

/** Shown when a page throws. */
export function ErrorFallback() {
  const { t } = useTexts();
  return (
    <EmptyState
      asPage
      alert
      title={t('error.500')}
      action={<Button onClick={() => window.location.reload()}>{t('action.retry')}</Button>}
    />
  );
}
