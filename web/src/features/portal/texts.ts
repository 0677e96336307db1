import type { Texts as StoreTexts } from '@/app/i18n';
import commonEn from '@/i18n/en/common.json';
import portalEn from '@/i18n/en/portal.json';
import subscriptionEn from '@/i18n/en/subscription.json';
import { type Translate, textFor, useLocale } from '@/i18n/light';
import commonZh from '@/i18n/zh/common.json';
import portalZh from '@/i18n/zh/portal.json';
import subscriptionZh from '@/i18n/zh/subscription.json';
import type { Locale } from '@/lib/locale';

const en = { ...commonEn, ...portalEn, ...subscriptionEn };
const catalogues = { en, zh: { ...commonZh, ...portalZh, ...subscriptionZh } };

export interface Texts extends Omit<StoreTexts, 't'> {
  t: Translate<typeof en>;
}

export type Key = Parameters<Texts['t']>[0];

/** A text that a pure rule names and a component speaks. */
export interface Phrase {
  key: Key;
  values?: Record<string, string | number>;
}

const textsIn = (language: Locale): Texts => ({
  t: (key, values) => textFor(catalogues, language, key, values),
  language,
  text: (both) => both?.[language] || both?.en || '',
});

/** The texts of the portal; those about subscriptions are loaded with it and not with the store in front. */
export const texts: Record<Locale, Texts> = { en: textsIn('en'), zh: textsIn('zh') };

export const useTexts = (): Texts => texts[useLocale()];
