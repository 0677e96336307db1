import type { Texts as StoreTexts } from '@/app/i18n';
import authEn from '@/i18n/en/auth.json';
import commonEn from '@/i18n/en/common.json';
import portalEn from '@/i18n/en/portal.json';
import subscriptionEn from '@/i18n/en/subscription.json';
import { type Translate, textFor, useLocale } from '@/i18n/light';
import authZh from '@/i18n/zh/auth.json';
import commonZh from '@/i18n/zh/common.json';
import portalZh from '@/i18n/zh/portal.json';
import subscriptionZh from '@/i18n/zh/subscription.json';
import type { Locale } from '@/lib/locale';

const en = { ...commonEn, ...authEn, ...portalEn, ...subscriptionEn };
const catalogues = { en, zh: { ...commonZh, ...authZh, ...portalZh, ...subscriptionZh } };

export interface Texts extends Omit<StoreTexts, 't'> {
  t: Translate<typeof en>;
}

export type Key = Parameters<Texts['t']>[0];

const textsIn = (language: Locale): Texts => ({
  t: (key, values) => textFor(catalogues, language, key, values),
  language,
  text: (both) => both?.[language] || both?.en || '',
});

/** The texts of the signed-in pages about billing; the store does not load them. */
export const texts: Record<Locale, Texts> = { en: textsIn('en'), zh: textsIn('zh') };

export const useTexts = (): Texts => texts[useLocale()];
