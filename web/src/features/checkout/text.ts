import en from '@/i18n/en/checkout.json';
import { translator } from '@/i18n/light';
import zh from '@/i18n/zh/checkout.json';

/** Texts of the checkout. */
export const t = translator({ en, zh });

export type Key = Parameters<typeof t>[0];
export type Values = Parameters<typeof t>[1];

/** A text chosen by a pure function and rendered by a component. */
export interface Phrase {
  key: Key;
  values?: Values;
}

export const translate = ({ key, values }: Phrase) => t(key, values);
