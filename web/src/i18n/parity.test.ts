import { describe, expect, it } from 'vitest';

type Catalogue = Record<string, string>;
const files = import.meta.glob<Catalogue>('./{en,zh}/*.json', { eager: true, import: 'default' });
const names = [...new Set(Object.keys(files).map((path) => path.replace(/^\.\/(en|zh)\//, '')))];

/** Chinese has no singular form, so `_one` exists in English only. */
const keysOf = (catalogue: Catalogue) =>
  Object.keys(catalogue)
    .filter((key) => !key.endsWith('_one'))
    .sort();
/** "X and 2 more" is 「X 等 3 项」: where English counts the others, Chinese counts all. */
const valuesIn = (text: string) =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => (name === 'total' ? 'count' : name)).sort();

describe.each(names)('%s', (name) => {
  const en = files[`./en/${name}`] ?? {};
  const zh = files[`./zh/${name}`] ?? {};

  it('has the same keys in both languages', () => {
    expect(keysOf(zh)).toEqual(keysOf(en));
  });

  it('fills the same values in both languages', () => {
    for (const key of keysOf(en)) expect([key, valuesIn(zh[key] ?? '')]).toEqual([key, valuesIn(en[key] ?? '')]);
  });

  it('leaves no text empty', () => {
    for (const [key, text] of [...Object.entries(en), ...Object.entries(zh)])
      expect([key, text.trim()]).not.toEqual([key, '']);
  });
});
