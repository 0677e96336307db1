import en from '@/i18n/en/extras.json';
import { translator } from '@/i18n/light';
import zh from '@/i18n/zh/extras.json';

export const t = translator({ en, zh });
