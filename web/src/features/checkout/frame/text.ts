import en from '@/i18n/en/frame.json';
import { translator } from '@/i18n/light';
import zh from '@/i18n/zh/frame.json';

export const t = translator({ en, zh });
