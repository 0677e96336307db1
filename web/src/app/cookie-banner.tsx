import { useState } from 'react';
import { useTexts } from '@/app/i18n';
import { Button } from '@/kit/button';
import styles from './cookie-banner.module.css';

const COOKIE = 'CookieConsent';
const DAYS = 365;

const consented = () => new RegExp(`(?:^|; )${COOKIE}=`).test(document.cookie);
const framed = () => window.self !== window.top;

/** Shown once a year, and never inside a frame: there the page around it has its own. */
export function CookieBanner() {
  const { t } = useTexts();
  const [open, setOpen] = useState(() => !framed() && !consented());
  if (!open) return null;

  const accept = () => {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in Firefox and Safari.
    document.cookie = `${COOKIE}=true; path=/; max-age=${DAYS * 24 * 3600}; samesite=lax`;
    setOpen(false);
  };

  return (
    <section className={styles.banner} aria-label={t('cookies.title')}>
      <p>{t('cookies.text')}</p>
      <Button onClick={accept}>{t('cookies.accept')}</Button>
    </section>
  );
}
