import commonEn from '@/i18n/en/common.json';
import comparisonEn from '@/i18n/en/comparison.json';
import { type Translate, textFor, useLocale } from '@/i18n/light';
import commonZh from '@/i18n/zh/common.json';
import comparisonZh from '@/i18n/zh/comparison.json';
import type { Locale } from '@/lib/locale';

const en = { ...commonEn, ...comparisonEn };
const catalogues = { en, zh: { ...commonZh, ...comparisonZh } };

export interface ComparisonTexts {
  t: Translate<typeof en>;
  language: Locale;
}

const textsIn = (language: Locale): ComparisonTexts => ({
  t: (key, values) => textFor(catalogues, language, key, values),
  language,
});
const texts: Record<Locale, ComparisonTexts> = { en: textsIn('en'), zh: textsIn('zh') };

/** The texts of the comparison of versions. */
export const useComparisonTexts = (): ComparisonTexts => texts[useLocale()];
