import type { Text } from '@/api/types';
import authEn from '@/i18n/en/auth.json';
import commonEn from '@/i18n/en/common.json';
import storeEn from '@/i18n/en/store.json';
import { type Translate, textFor, useLocale } from '@/i18n/light';
import authZh from '@/i18n/zh/auth.json';
import commonZh from '@/i18n/zh/common.json';
import storeZh from '@/i18n/zh/store.json';
import type { Locale } from '@/lib/locale';

const en = { ...commonEn, ...storeEn, ...authEn };
const catalogues = { en, zh: { ...commonZh, ...storeZh, ...authZh } };

export interface Texts {
  t: Translate<typeof en>;
  language: Locale;
  /** The current language of a text that the server sent in both languages. */
  text: (both: Text | null | undefined) => string;
}

const textsIn = (language: Locale): Texts => ({
  t: (key, values) => textFor(catalogues, language, key, values),
  language,
  text: (both) => both?.[language] || both?.en || '',
});

/** The texts of the store and of signing in. `t` is another function in another language, so what depends on it follows. */
export const texts: Record<Locale, Texts> = { en: textsIn('en'), zh: textsIn('zh') };

export const useTexts = (): Texts => texts[useLocale()];
