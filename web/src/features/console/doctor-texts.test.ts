import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import en from '@/i18n/en/doctor.json';
import zh from '@/i18n/zh/doctor.json';

const source = readFileSync(join(import.meta.dirname, '../../../../crates/domain/src/operation/finding.rs'), 'utf8');
const codes = [...source.matchAll(/^ {4}\w+ = "([a-z_]+)", (?:Error|Warning|Notice);$/gm)].map(([, code]) => code);

it('has a text and a remedy for each finding, and for no other', () => {
  expect(codes.length).toBeGreaterThan(12);
  for (const texts of [en, zh]) {
    for (const kind of ['doctor.finding.', 'doctor.remedy.']) {
      const keys = Object.keys(texts).filter((key) => key.startsWith(kind));
      expect(keys.map((key) => key.slice(kind.length)).sort()).toEqual([...codes].sort());
    }
  }
});
