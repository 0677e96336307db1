import en from '@/i18n/en/sandbox.json';
import { translator } from '@/i18n/light';
import zh from '@/i18n/zh/sandbox.json';

export const t = translator({ en, zh });
export type Key = Parameters<typeof t>[0];
