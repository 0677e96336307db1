import { useRef, useState } from 'react';
import { useTexts } from '@/app/i18n';
import { Check } from '@/kit/icons';
import { Copy } from '@/kit/store-icons';
import { copyText } from '@/lib/clipboard';
import styles from './copyable.module.css';

/** A labeled identifier with a copy button. */
export function Copyable({ label, value }: { label: string; value: string }) {
  const { t } = useTexts();
  const [copied, setCopied] = useState(false);
  const [failed, setFailed] = useState(false);
  const timer = useRef<number>(undefined);
  const copy = async () => {
    const succeeded = await copyText(value);
    setCopied(succeeded);
    setFailed(!succeeded);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setCopied(false), 2000);
  };
  return (
    <div className={styles.copyable}>
      <span className={styles.label}>{label}</span>
      <code>{value}</code>
      <button type="button" onClick={() => void copy()} aria-label={`${t('action.copy')}: ${label}`}>
        {copied ? <Check size="1em" /> : <Copy />}
      </button>
      <span role="status" className="sr-only">
        {copied ? t('action.copied') : ''}
      </span>
      {failed ? (
        <span role="alert" className={styles.label}>
          {t('action.notCopied')}
        </span>
      ) : null}
    </div>
  );
}
