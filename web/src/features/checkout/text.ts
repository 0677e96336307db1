import en from '@/i18n/en/checkout.json';
import { translator } from '@/i18n/light';
import zh from '@/i18n/zh/checkout.json';

/** The words of the checkout. */
export const t = translator({ en, zh });

export type Key = Parameters<typeof t>[0];
export type Values = Parameters<typeof t>[1];

/** A text that a pure rule names and a component speaks. */
export interface Phrase {
  key: Key;
  values?: Values;
}

export const translate = ({ key, values }: Phrase) => t(key, values);
