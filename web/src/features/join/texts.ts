import commonEn from '@/i18n/en/common.json';
import joinEn from '@/i18n/en/join.json';
import { type Translate, textFor, useLocale } from '@/i18n/light';
import commonZh from '@/i18n/zh/common.json';
import joinZh from '@/i18n/zh/join.json';
import type { Locale } from '@/lib/locale';

const en = { ...commonEn, ...joinEn };
const catalogues = { en, zh: { ...commonZh, ...joinZh } };

export interface Texts {
  t: Translate<typeof en>;
  language: Locale;
}

const textsIn = (language: Locale): Texts => ({
  t: (key, values) => textFor(catalogues, language, key, values),
  language,
});
const texts: Record<Locale, Texts> = { en: textsIn('en'), zh: textsIn('zh') };

/** The texts of the page where users become developers. */
export const useTexts = (): Texts => texts[useLocale()];
