import { useSyncExternalStore } from 'react';
import type { StoreInfo } from '@/api/types';
import { useLocale } from '@/i18n/light';
import { Moon, Sun } from '@/kit/icons';
import { setLocale } from '@/lib/locale';
import { onTheme, setTheme, theme } from '@/lib/theme';
import { pageAt } from '../rules/view';
import { t } from '../text';

/** Store link, language and theme. */
export function Header({ store }: { store: StoreInfo | null }) {
  const locale = useLocale();
  const currentTheme = useSyncExternalStore(onTheme, theme);
  const dark = currentTheme === 'dark';
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
        {dark ? <Moon /> : <Sun />}
      </button>
    </header>
  );
}

/** Without `isVisible` the bar only reserves its space, while the mode is unknown. */
export function TestBar({ isVisible, store }: { isVisible: boolean; store: StoreInfo | null }) {
  if (!isVisible) return <div className="checkout-test checkout-test-place" />;
  return (
    <aside className="checkout-test" aria-label={t('mode.test')}>
      {t(store?.sandbox === false ? 'mode.sandboxOff' : 'mode.testHint')}
    </aside>
  );
}
