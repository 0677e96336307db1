import en from '@/i18n/en/office.json';
import { translator, useLocale } from '@/i18n/light';
import zh from '@/i18n/zh/office.json';
import type { Locale } from '@/lib/locale';

const t = translator({ en, zh });

export interface OfficeTexts {
  t: typeof t;
  language: Locale;
}

/** The words of what the store does with a customer's subscription; customers never load them. */
export function useOfficeTexts(): OfficeTexts {
  return { t, language: useLocale() };
}
