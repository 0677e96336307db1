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
  /** Picks the current language of a bilingual text from the server. */
  text: (both: Text | null | undefined) => string;
}

const textsIn = (language: Locale): Texts => ({
  t: (key, values) => textFor(catalogues, language, key, values),
  language,
  text: (both) => both?.[language] || both?.en || '',
});

/**
 * The texts of the store and the sign-in pages. `t` changes identity with the language, so that hooks depending on it
 * rerun.
 */
export const texts: Record<Locale, Texts> = { en: textsIn('en'), zh: textsIn('zh') };

export const useTexts = (): Texts => texts[useLocale()];
