import type { ReactNode } from 'react';
import { useTexts } from '@/app/i18n';
import { Button } from '@/kit/button';
import styles from './notice.module.css';

interface NoticeProps {
  title: string;
  text?: string;
  /** The one way on. */
  action?: ReactNode;
  /** The page's own heading, where nothing else is on the page. */
  asPage?: boolean;
  alert?: boolean;
}

/** Empty and failed states: a sentence and one way on. */
export function Notice({ title, text, action, asPage = false, alert = false }: NoticeProps) {
  const Heading = asPage ? 'h1' : 'p';
  return (
    <div className={styles.notice} role={alert ? 'alert' : undefined}>
      <Heading className={styles.title}>{title}</Heading>
      {text ? <p className={styles.text}>{text}</p> : null}
      {action}
    </div>
  );
}

interface FailedProps {
  title: string;
  text?: string;
  /** Nothing else is on the page. */
  asPage?: boolean;
  onRetry: () => void;
}

/** A part of the page that could not be loaded, with the way to try again. */
export function Failed({ title, text, asPage, onRetry }: FailedProps) {
  const { t } = useTexts();
  const again = <Button onClick={onRetry}>{t('action.retry')}</Button>;
  return <Notice alert asPage={asPage} title={title} text={text} action={again} />;
}

/** The last resort: a page that threw. */
export function Fault() {
  const { t } = useTexts();
  return (
    <Notice
      asPage
      alert
      title={t('error.500')}
      action={<Button onClick={() => window.location.reload()}>{t('action.retry')}</Button>}
    />
  );
}
