import { describe, expect, it } from 'vitest';

type Catalogue = Record<string, string>;
const files = import.meta.glob<Catalogue>('./{en,zh}/*.json', { eager: true, import: 'default' });
const names = [...new Set(Object.keys(files).map((path) => path.replace(/^\.\/(en|zh)\//, '')))];

/** Chinese has no singular form, so only English has `_one`. */
const keysOf = (catalogue: Catalogue) =>
  Object.keys(catalogue)
    .filter((key) => !key.endsWith('_one'))
    .sort();
/** English counts the others ("X and 2 more"), Chinese counts all (「X 等 3 项」). */
const valuesIn = (text: string) =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => (name === 'total' ? 'count' : name)).sort();

describe.each(names)('%s', (name) => {
  const en = files[`./en/${name}`] ?? {};
  const zh = files[`./zh/${name}`] ?? {};

  it('has the same keys in both languages', () => {
    expect(keysOf(zh)).toEqual(keysOf(en));
  });

  it('has the same placeholders in both languages', () => {
    for (const key of keysOf(en)) expect([key, valuesIn(zh[key] ?? '')]).toEqual([key, valuesIn(en[key] ?? '')]);
  });

  it('has no empty text', () => {
    for (const [key, text] of [...Object.entries(en), ...Object.entries(zh)])
      expect([key, text.trim()]).not.toEqual([key, '']);
  });
});
