import auditEn from '@/i18n/en/audit.json';
import catalogueEn from '@/i18n/en/catalogue.json';
import commonEn from '@/i18n/en/common.json';
import consoleEn from '@/i18n/en/console.json';
import doctorEn from '@/i18n/en/doctor.json';
import payablesEn from '@/i18n/en/payables.json';
import peopleEn from '@/i18n/en/people.json';
import settingsEn from '@/i18n/en/settings.json';
import { type Translate, textFor, useLocale } from '@/i18n/light';
import auditZh from '@/i18n/zh/audit.json';
import catalogueZh from '@/i18n/zh/catalogue.json';
import commonZh from '@/i18n/zh/common.json';
import consoleZh from '@/i18n/zh/console.json';
import doctorZh from '@/i18n/zh/doctor.json';
import payablesZh from '@/i18n/zh/payables.json';
import peopleZh from '@/i18n/zh/people.json';
import settingsZh from '@/i18n/zh/settings.json';
import type { Locale } from '@/lib/locale';

const en = {
  ...commonEn,
  ...consoleEn,
  ...auditEn,
  ...doctorEn,
  ...settingsEn,
  ...payablesEn,
  ...peopleEn,
  ...catalogueEn,
};
const zh = {
  ...commonZh,
  ...consoleZh,
  ...auditZh,
  ...doctorZh,
  ...settingsZh,
  ...payablesZh,
  ...peopleZh,
  ...catalogueZh,
};
const catalogues = { en, zh };

export interface Texts {
  t: Translate<typeof en>;
  language: Locale;
}

const textsIn = (language: Locale): Texts => ({
  t: (key, values) => textFor(catalogues, language, key, values),
  language,
});

/** The texts of the console, loaded with it. */
export const texts: Record<Locale, Texts> = { en: textsIn('en'), zh: textsIn('zh') };

export const useTexts = (): Texts => texts[useLocale()];
