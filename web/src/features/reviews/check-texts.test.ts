import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import en from '@/i18n/en/reviews.json';
import zh from '@/i18n/zh/reviews.json';

const publishing = join(import.meta.dirname, '../../../../crates/domain/src/publishing');
const namesIn = (path: string, type: string) => {
  const source = readFileSync(join(publishing, path), 'utf8');
  const body = new RegExp(`^    ${type} \\{\\n(.*?)^    \\}`, 'ms').exec(source)?.[1] ?? '';
  return [...body.matchAll(/^ {8}\w+ = "([^"]+)",$/gm)].map(([, name]) => name);
};
const keysOf = (texts: Record<string, string>, prefix: string) =>
  Object.keys(texts)
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length))
    .sort();

it.each([
  ['bundle/checks/mod.rs', 'CheckName', 'check.'],
  ['bundle/checks/mod.rs', 'Rule', 'rule.'],
  ['bundle/checks/mod.rs', 'Rule', 'hint.'],
])('has a text for each name of %s, %s, and for no other: %s', (path, type, prefix) => {
  const names = namesIn(path, type);
  expect(names.length).toBeGreaterThan(5);
  for (const texts of [en, zh]) expect(keysOf(texts, prefix)).toEqual([...names].sort());
});

it('has a text for each entry of the thread', () => {
  // The text of a replacement names the version.
  const kinds = namesIn('review/records.rs', 'EntryKind').filter((name) => name !== 'replaced');
  expect(kinds.length).toBeGreaterThan(10);
  for (const texts of [en, zh])
    expect(keysOf(texts, 'thread.').filter((key) => key !== 'title' && key !== 'empty')).toEqual([...kinds].sort());
});

it('has the hints of the server in English', () => {
  const source = readFileSync(join(publishing, 'bundle/checks/mod.rs'), 'utf8');
  const hints = [...source.matchAll(/^ {12}Self::\w+ => "([^"]+)",$/gm)].map(([, hint]) => hint);
  const shown = Object.entries(en).filter(([key]) => key.startsWith('hint.'));
  expect(shown.map(([, hint]) => hint).sort()).toEqual([...hints].sort());
});
