import { useSyncExternalStore } from 'react';
import type { StoreInfo } from '@/api/types';
import { useLocale } from '@/i18n/light';
import { Moon, Sun } from '@/kit/icons';
import { setLocale } from '@/lib/locale';
import { onTheme, setTheme, theme } from '@/lib/theme';
import { pageAt } from '../rules/view';
import { t } from '../text';

/** The store, and what the visitor may want to change before reading on. */
export function Header({ store }: { store: StoreInfo | null }) {
  const locale = useLocale();
  const shown = useSyncExternalStore(onTheme, theme);
  const dark = shown === 'dark';
  return (
    <header className="checkout-header">
      <a href={pageAt('/')} className="checkout-brand">
        <img src={store?.logo || '/favicon.svg'} alt="" width={28} height={28} />
        <span>{store?.name ?? 'Souk'}</span>
      </a>
      <button
        type="button"
        className="k-icon-button checkout-language"
        lang={locale === 'zh' ? 'en' : 'zh'}
        aria-label={t('nav.switchLanguageLabel')}
        onClick={() => setLocale(locale === 'zh' ? 'en' : 'zh')}
      >
        {t('nav.switchLanguage')}
      </button>
      <button
        type="button"
        className="k-icon-button"
        aria-label={dark ? t('nav.themeLight') : t('nav.themeDark')}
        onClick={() => setTheme(dark ? 'light' : 'dark')}
      >
        {dark ? <Sun /> : <Moon />}
      </button>
    </header>
  );
}

/** `shown` false keeps its place while nobody knows yet. */
export function TestBar({ shown }: { shown: boolean }) {
  if (!shown) return <div className="checkout-test checkout-test-place" />;
  return (
    <aside className="checkout-test" aria-label={t('mode.test')}>
      {t('mode.bar')}
    </aside>
  );
}
