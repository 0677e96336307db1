import { readFileSync } from 'node:fs';
import type { DisplaySettings } from '../fixtures/display-settings';

type Values = Record<string, string | number>;
const escapeRegExp = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * The texts of a language as patterns: `translate('subscription:cancel.action')`. Placeholders without a value match
 * any text, so tests only pass the values that they know.
 */
export function translatorFor(language: DisplaySettings['locale']) {
  const catalogues = new Map<string, Record<string, string>>();
  const find = (file: string): Record<string, string> => {
    const path = new URL(`../../src/i18n/${language}/${file}.json`, import.meta.url);
    const catalogue = catalogues.get(file) ?? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>);
    catalogues.set(file, catalogue);
    return catalogue;
  };
  const plurals = new Intl.PluralRules(language);
  return (name: `${string}:${string}`, values: Values = {}): RegExp => {
    const [file = '', key = ''] = name.split(/:(.*)/s);
    const texts = find(file);
    const plural = typeof values.count === 'number' ? `${key}_${plurals.select(values.count)}` : '';
    const text = texts[plural] ?? texts[key] ?? texts[`${key}_other`];
    if (text === undefined) throw new Error(`${language}/${file}.json has no ${key}`);
    const parts = text.split(/(\{\w+\})/).map((part) => {
      const placeholder = /^\{(\w+)\}$/.exec(part)?.[1];
      // The page drops spaces between Chinese words.
      if (!placeholder) return escapeRegExp(part).replaceAll(' ', language === 'zh' ? ' ?' : ' ');
      return placeholder in values ? escapeRegExp(String(values[placeholder])) : '.+';
    });
    return new RegExp(`^${parts.join('')}$`);
  };
}

export type Translate = ReturnType<typeof translatorFor>;
