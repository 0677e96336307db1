import { readFileSync } from 'node:fs';
import type { Look } from '../fixtures/look';

type Values = Record<string, string | number>;
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * The page's words in a language, as patterns: `say('subscription:cancel.action')`. What is not given for a `{name}`
 * matches anything, so a test names a sentence by its key and the amounts that it knows.
 */
export function wordsIn(language: Look['locale']) {
  const catalogues = new Map<string, Record<string, string>>();
  const find = (file: string): Record<string, string> => {
    const path = new URL(`../../src/i18n/${language}/${file}.json`, import.meta.url);
    const known = catalogues.get(file) ?? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>);
    catalogues.set(file, known);
    return known;
  };
  const plurals = new Intl.PluralRules(language);
  return (name: `${string}:${string}`, values: Values = {}): RegExp => {
    const [file = '', key = ''] = name.split(/:(.*)/s);
    const texts = find(file);
    const plural = typeof values.count === 'number' ? `${key}_${plurals.select(values.count)}` : '';
    const text = texts[plural] ?? texts[key] ?? texts[`${key}_other`];
    if (text === undefined) throw new Error(`${language}/${file}.json has no ${key}`);
    const parts = text.split(/(\{\w+\})/).map((part) => {
      const place = /^\{(\w+)\}$/.exec(part)?.[1];
      if (!place) return escaped(part);
      return place in values ? escaped(String(values[place])) : '.+';
    });
    return new RegExp(`^${parts.join('')}$`);
  };
}

export type Say = ReturnType<typeof wordsIn>;
