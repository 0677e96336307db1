import en from '@/i18n/en/office.json';
import { translator, useLocale } from '@/i18n/light';
import zh from '@/i18n/zh/office.json';
import type { Locale } from '@/lib/locale';

const t = translator({ en, zh });

/** The words of what the store does with a customer's subscription; customers never load them. */
export function useOfficeTexts(): { t: typeof t; language: Locale } {
  return { t, language: useLocale() };
}
