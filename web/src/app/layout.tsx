import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { CookieBanner } from '@/app/cookie-banner';
import { Header } from '@/app/header';
import { useTexts } from '@/app/i18n';
import { useStore } from '@/app/queries';
import { switchMode } from '@/app/switch-mode';
import { pageView } from '@/app/tracking';
import { onLivemode, storedLivemode } from '@/lib/livemode';
import styles from './layout.module.css';

/** The frame of every page: header, test mode bar, footer, and the route announcer. */
export function Layout() {
  const { t } = useTexts();
  const store = useStore();
  return (
    <div className={styles.layout}>
      <a href="#content" className={styles.skip}>
        {t('a11y.skip')}
      </a>
      <TestBar />
      <Header />
      <main id="content" tabIndex={-1} className={styles.main}>
        <Outlet />
      </main>
      <footer className={styles.footer}>
        <span>{store?.name ?? 'Souk'}</span>
        <a href="/openapi.json">{t('footer.api')}</a>
      </footer>
      <RouteAnnouncer />
      <CookieBanner t={t} />
    </div>
  );
}

function TestBar() {
  const { t } = useTexts();
  const live = useSyncExternalStore(onLivemode, storedLivemode);
  const store = useStore();
  if (live !== false) return null;
  return (
    <section className={styles.testBar} aria-label={t('mode.test')}>
      <span>{t(store?.sandbox === false ? 'mode.sandboxOff' : 'mode.testHint')}</span>
      <button type="button" onClick={() => switchMode(true)}>
        {t('mode.toLive')}
      </button>
    </section>
  );
}

/** Tracks one page view per path, and announces the new title to screen readers. */
function RouteAnnouncer() {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const first = useRef(true);
  const [title, setTitle] = useState('');
  useEffect(() => {
    if (path === undefined) return;
    pageView(path);
    if (first.current) {
      first.current = false;
      return;
    }
    const timer = window.setTimeout(() => setTitle(document.title), 300);
    return () => window.clearTimeout(timer);
  }, [path]);
  return (
    <div aria-live="polite" className="sr-only">
      {title}
    </div>
  );
}
