import { useEffect, useRef, useState } from 'react';
import { Button } from '@/kit/button';
import styles from './cookie-banner.module.css';

const COOKIE = 'CookieConsent';
const DAYS = 365;

/** Once a year, and never inside a frame: there the page around it asks. */
const asksConsent = () => window.self === window.top && !new RegExp(`(?:^|; )${COOKIE}=`).test(document.cookie);

function consent(): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in Firefox and Safari.
  document.cookie = `${COOKIE}=true; path=/; max-age=${DAYS * 24 * 3600}; samesite=lax`;
}

/** What a banner takes of the window's lower edge, in pixels: the page ends above it. Answers how to give it back. */
function takeEdge(banner: HTMLElement): () => void {
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
  /** The words of the entry that shows it. */
  t: (key: 'cookies.title' | 'cookies.text' | 'cookies.accept') => string;
}

/** While it is open the page ends above it, so that it hides nothing for good. */
export function CookieBanner({ t }: Props) {
  const [open, setOpen] = useState(asksConsent);
  const banner = useRef<HTMLElement>(null);
  useEffect(() => (open && banner.current ? takeEdge(banner.current) : undefined), [open]);
  if (!open) return null;

  const accept = () => {
    consent();
    setOpen(false);
  };
  return (
    <section ref={banner} className={styles.banner} aria-label={t('cookies.title')}>
      <p>{t('cookies.text')}</p>
      <Button onClick={accept}>{t('cookies.accept')}</Button>
    </section>
  );
}
