import commonEn from '@/i18n/en/common.json';
import publishEn from '@/i18n/en/publish.json';
import { type Translate, textFor, useLocale } from '@/i18n/light';
import commonZh from '@/i18n/zh/common.json';
import publishZh from '@/i18n/zh/publish.json';
import type { Locale } from '@/lib/locale';

const en = { ...commonEn, ...publishEn };
const catalogues = { en, zh: { ...commonZh, ...publishZh } };

export interface Texts {
  t: Translate<typeof en>;
  language: Locale;
}

const textsIn = (language: Locale): Texts => ({
  t: (key, values) => textFor(catalogues, language, key, values),
  language,
});
const texts: Record<Locale, Texts> = { en: textsIn('en'), zh: textsIn('zh') };

/** The texts of the pages of developers. */
export const useTexts = (): Texts => texts[useLocale()];
