import en from '@/i18n/en/connect.json';
import { translator } from '@/i18n/light';
import zh from '@/i18n/zh/connect.json';

export const t = translator({ en, zh });
