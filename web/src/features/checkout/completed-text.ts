import en from '@/i18n/en/completed.json';
import { translator } from '@/i18n/light';
import zh from '@/i18n/zh/completed.json';

/** Texts of the pages after the payment. */
export const t = translator({ en, zh });
