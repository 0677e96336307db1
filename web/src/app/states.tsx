import type { ReactNode } from 'react';
import { useTexts } from '@/app/i18n';
import { Button } from '@/kit/button';
import styles from './states.module.css';

interface EmptyStateProps {
  title: string;
  text?: string;
  /** The one way on. */
  action?: ReactNode;
  /** The page's own heading, where nothing else is on the page. */
  asPage?: boolean;
  alert?: boolean;
}

/** A page or a part without content: a sentence and one way on. */
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
  /** It is the only content of the page. */
  asPage?: boolean;
  onRetry: () => void;
}

/** A part of the page that could not be loaded, with a button that tries again. */
export function ErrorState({ title, text, asPage, onRetry }: ErrorStateProps) {
  const { t } = useTexts();
  const again = <Button onClick={onRetry}>{t('action.retry')}</Button>;
  return <EmptyState alert asPage={asPage} title={title} text={text} action={again} />;
}

/** A page that threw an error. */
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
