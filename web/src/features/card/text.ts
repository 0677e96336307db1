import en from '@/i18n/en/card.json';
import { translator } from '@/i18n/light';
import zh from '@/i18n/zh/card.json';

/** Texts of the card form. */
export const t = translator({ en, zh });

export type Key = Parameters<typeof t>[0];
