import i18next from 'i18next';
import { initReactI18next, useTranslation } from 'react-i18next';
import type { Text } from '@/api/types';
import commonEn from '@/i18n/en/common.json';
import portalEn from '@/i18n/en/portal.json';
import storeEn from '@/i18n/en/store.json';
import commonZh from '@/i18n/zh/common.json';
import portalZh from '@/i18n/zh/portal.json';
import storeZh from '@/i18n/zh/store.json';
import { type Locale, locale, onLocale } from '@/lib/locale';

const en = { ...commonEn, ...storeEn, ...portalEn };

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: typeof en };
    keySeparator: false;
    nsSeparator: false;
    interpolationPrefix: '{';
    interpolationSuffix: '}';
  }
}

i18next.use(initReactI18next).init({
  lng: locale(),
  fallbackLng: 'en',
  resources: { en: { translation: en }, zh: { translation: { ...commonZh, ...storeZh, ...portalZh } } },
  keySeparator: false,
  nsSeparator: false,
  interpolation: { prefix: '{', suffix: '}', escapeValue: false },
});
onLocale(() => void i18next.changeLanguage(locale()));

/** `t` over all texts of store and portal, the language, and the right half of a text the server sent in both. */
export function useTexts() {
  const { t, i18n } = useTranslation();
  const language = i18n.language as Locale;
  return { t, language, text: (both: Text | null | undefined) => both?.[language] || both?.en || '' };
}

export { i18next };
