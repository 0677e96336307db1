import { useSyncExternalStore } from 'react';
import { type Locale, locale, onLocale } from '@/lib/locale';
import commonEn from './en/common.json';
import commonZh from './zh/common.json';

/**
 * Translation over flat catalogues: `{name}` is replaced, `count` selects `key_one` or `key_other`, and a missing key
 * falls back to English, then to itself. Numbers are grouped ("1,234"), so years and codes are passed as text.
 */
export type Values = Record<string, string | number>;

/** Keys for callers: without the plural suffixes. */
export type KeyOf<C> = keyof C extends infer K
  ? (K extends `${infer Base}_${'one' | 'other'}` ? Base : K) & string
  : never;

export interface Catalogues<C extends Record<string, string>> {
  en: C;
  zh: Record<string, string>;
}

export type Translate<C> = (key: KeyOf<C>, values?: Values) => string;

export function textFor(
  catalogues: { en: Record<string, string>; zh: Record<string, string> },
  language: Locale,
  key: string,
  values: Values = {},
): string {
  const template = pick(catalogues[language], language, key, values) ?? pick(catalogues.en, 'en', key, values) ?? key;
  const [start = '', ...rest] = template.split(/(\{\w+\})/);
  return rest.reduce((text, part) => {
    const name = part.slice(1, -1);
    const value = /^\{\w+\}$/.test(part) ? (values[name] ?? part) : part;
    return join(text, typeof value === 'number' ? new Intl.NumberFormat(language).format(value) : value);
  }, start);
}

const ENDS_IN_CHINESE = /[\p{Script=Han}）] ?$/u;
const STARTS_WITH_CHINESE = /^ ?[\p{Script=Han}（]/u;

/** Chinese words are not separated by spaces, while a Latin name or a number between them is. */
const join = (before: string, after: string): string =>
  ENDS_IN_CHINESE.test(before) && STARTS_WITH_CHINESE.test(after)
    ? before.trimEnd() + after.trimStart()
    : before + after;

const plurals = { en: new Intl.PluralRules('en'), zh: new Intl.PluralRules('zh') };

function pick(catalogue: Record<string, string>, language: Locale, key: string, values: Values): string | undefined {
  if (typeof values.count === 'number') {
    const form = plurals[language].select(values.count);
    return catalogue[`${key}_${form}`] ?? catalogue[`${key}_other`] ?? catalogue[key];
  }
  return catalogue[key];
}

const common = { en: commonEn, zh: commonZh };

/** A typed `t` over a feature's catalogue and the common one, for use outside of components. */
export function translator<C extends Record<string, string>>(own: Catalogues<C>): Translate<C & typeof commonEn> {
  const all = { en: { ...common.en, ...own.en }, zh: { ...common.zh, ...own.zh } };
  return (key, values) => textFor(all, locale(), key, values);
}

/** The current language; rerenders the component when it changes. */
export function useLocale(): Locale {
  return useSyncExternalStore(onLocale, locale);
}
