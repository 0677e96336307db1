import { useEffect, useRef, useState } from 'react';
import { Button } from '@/kit/button';
import styles from './cookie-banner.module.css';

const COOKIE = 'CookieConsent';
const DAYS = 365;

/** Appears once a year, and never inside an iframe: the embedding page shows its own. */
const needsConsent = () => window.self === window.top && !new RegExp(`(?:^|; )${COOKIE}=`).test(document.cookie);

function storeConsent(): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in Firefox and Safari.
  document.cookie = `${COOKIE}=true; path=/; max-age=${DAYS * 24 * 3600}; samesite=lax`;
}

/** Sets `--banner` to the height of the banner, so that the page ends above it. Returns the cleanup. */
function reserveSpace(banner: HTMLElement): () => void {
  const { style } = document.documentElement;
  const measure = () =>
    style.setProperty('--banner', `${Math.ceil(window.innerHeight - banner.getBoundingClientRect().top)}px`);
  const observer = new ResizeObserver(measure);
  observer.observe(banner);
  measure();
  return () => {
    observer.disconnect();
    style.removeProperty('--banner');
  };
}

interface Props {
  /** The `t` of the entry that shows the banner. */
  t: (key: 'cookies.title' | 'cookies.text' | 'cookies.accept') => string;
}

/** The page ends above the open banner, so that the banner covers no content. */
export function CookieBanner({ t }: Props) {
  const [open, setOpen] = useState(needsConsent);
  const banner = useRef<HTMLElement>(null);
  useEffect(() => (open && banner.current ? reserveSpace(banner.current) : undefined), [open]);
  if (!open) return null;

  const accept = () => {
    storeConsent();
    setOpen(false);
  };
  return (
    <section ref={banner} className={styles.banner} aria-label={t('cookies.title')}>
      <p>{t('cookies.text')}</p>
      <Button onClick={accept}>{t('cookies.accept')}</Button>
    </section>
  );
}
