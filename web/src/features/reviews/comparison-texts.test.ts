import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import en from '@/i18n/en/comparison.json';

const source = readFileSync(
  join(import.meta.dirname, '../../../../crates/domain/src/publishing/comparison/facts.rs'),
  'utf8',
);

it('has a text for each field of the manifest that is compared, and for no other', () => {
  const names = [...source.matchAll(/^ {8}\("([a-z.]+)", /gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(5);
  const prefix = 'compare.field.';
  const keys = Object.keys(en).filter((key) => key.startsWith(prefix));
  expect(keys.map((key) => key.slice(prefix.length)).sort()).toEqual([...names].sort());
});
