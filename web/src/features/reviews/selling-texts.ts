import commonEn from '@/i18n/en/common.json';
import sellingEn from '@/i18n/en/selling.json';
import { type Translate, textFor, useLocale } from '@/i18n/light';
import commonZh from '@/i18n/zh/common.json';
import sellingZh from '@/i18n/zh/selling.json';
import type { Locale } from '@/lib/locale';

const en = { ...commonEn, ...sellingEn };
const catalogues = { en, zh: { ...commonZh, ...sellingZh } };

export interface SellingTexts {
  t: Translate<typeof en>;
  language: Locale;
}

const textsIn = (language: Locale): SellingTexts => ({
  t: (key, values) => textFor(catalogues, language, key, values),
  language,
});
const texts: Record<Locale, SellingTexts> = { en: textsIn('en'), zh: textsIn('zh') };

/** The texts of prices of apps and of what they bring. */
export const useSellingTexts = (): SellingTexts => texts[useLocale()];
