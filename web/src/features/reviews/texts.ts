import commonEn from '@/i18n/en/common.json';
import reviewsEn from '@/i18n/en/reviews.json';
import { type Translate, textFor, useLocale } from '@/i18n/light';
import commonZh from '@/i18n/zh/common.json';
import reviewsZh from '@/i18n/zh/reviews.json';
import type { Locale } from '@/lib/locale';

const en = { ...commonEn, ...reviewsEn };
const catalogues = { en, zh: { ...commonZh, ...reviewsZh } };

export interface Texts {
  t: Translate<typeof en>;
  language: Locale;
}

export type Key = Parameters<Texts['t']>[0];

const textsIn = (language: Locale): Texts => ({
  t: (key, values) => textFor(catalogues, language, key, values),
  language,
});
const texts: Record<Locale, Texts> = { en: textsIn('en'), zh: textsIn('zh') };

/** The texts of the review of versions. */
export const useTexts = (): Texts => texts[useLocale()];
