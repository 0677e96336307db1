import adminEn from '@/i18n/en/admin.json';
import { translator, useLocale } from '@/i18n/light';
import adminZh from '@/i18n/zh/admin.json';
import type { Locale } from '@/lib/locale';

const t = translator({ en: adminEn, zh: adminZh });

export interface AdminTexts {
  t: typeof t;
  language: Locale;
}

/** The texts of the administration of subscriptions and invoices; customers never load them. */
export function useAdminTexts(): AdminTexts {
  return { t, language: useLocale() };
}
