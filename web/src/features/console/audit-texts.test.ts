import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import en from '@/i18n/en/audit.json';
import zh from '@/i18n/zh/audit.json';

const source = readFileSync(join(import.meta.dirname, '../../../../crates/domain/src/access/audit.rs'), 'utf8');
const codes = [...source.matchAll(/^ {4}\w+ = "([a-z_]+\.[a-z_]+)";$/gm)].map(([, code]) => code);

it('has a text for each operation of the audit log, and for no other', () => {
  expect(codes.length).toBeGreaterThan(50);
  for (const texts of [en, zh]) {
    const keys = Object.keys(texts).filter((key) => key.startsWith('audit.op.'));
    expect(keys.map((key) => key.slice('audit.op.'.length)).sort()).toEqual([...codes].sort());
  }
});
