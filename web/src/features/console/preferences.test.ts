// @vitest-environment happy-dom
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  DECIMAL_RANGES,
  decimalProblem,
  issuersProblem,
  percentOf,
  problemText,
  RANGES,
  shareOf,
  wholeNumberProblem,
} from './preferences';
import { texts } from './texts';

const source = readFileSync(
  join(import.meta.dirname, '../../../../crates/domain/src/publishing/preferences.rs'),
  'utf8',
);

describe('the settings', () => {
  it('have the ranges of the server', () => {
    const constants = new Map(
      [...source.matchAll(/const (\w+): u32 = ([\d_]+);/g)].map(([, name, value]) => [name, value]),
    );
    const ranges = [...source.matchAll(/check\.range\("(\w+)", [\w.]+, ([\d_]+), ([\w]+)\)/g)];
    const server = Object.fromEntries(
      ranges.map(([, field = '', min = '', max = '']) => [
        field,
        [min, constants.get(max) ?? max].map((value) => Number(value.replace('_', ''))),
      ]),
    );
    expect(RANGES).toEqual(server);
    const decimals = [...source.matchAll(/check\.decimal\("(\w+)"/g)].map(([, field]) => field);
    expect(Object.keys(DECIMAL_RANGES).sort()).toEqual(decimals.sort());
  });

  it.each([
    [1, undefined],
    [2000, undefined],
    [0, 'OUT_OF_RANGE'],
    [2001, 'OUT_OF_RANGE'],
    [1.5, 'OUT_OF_RANGE'],
    [null, 'REQUIRED'],
  ])('%s as a whole number is %s', (value, code) => {
    expect(wholeNumberProblem('bundle_max_mb', value)?.code).toBe(code);
  });

  it.each([
    ['0', undefined],
    ['25', undefined],
    ['0.1000000000', undefined],
    [' 100 ', undefined],
    ['100.0001', 'OUT_OF_RANGE'],
    ['0.00001', 'TOO_PRECISE'],
    ['0,3', 'INVALID'],
    ['-1', 'INVALID'],
    ['1e3', 'INVALID'],
    ['', 'REQUIRED'],
  ])('%s as a percentage is %s', (text, code) => {
    expect(decimalProblem('store_share', text)?.code).toBe(code);
  });

  it.each([
    ['0', '0'],
    ['0.29', '29'],
    ['0.3000000000', '30'],
    ['0.000001', '0.0001'],
    ['0.123456', '12.3456'],
    ['1', '100'],
  ])('the share %s is %s percent', (share, percent) => {
    expect(percentOf(share)).toBe(percent);
    expect(shareOf(` ${percent} `)).toBe(String(Number(share)));
  });

  it.each([
    [decimalProblem('store_share', '100.5'), 'Enter a value from 0 to 100.'],
    [decimalProblem('store_share', '0.00001'), 'Enter at most 4 decimal places.'],
    [decimalProblem('price_max', '0'), 'Enter a value from 0.000001 to 1,000,000.'],
    [decimalProblem('price_max', '0.0000001'), 'Enter at most 6 decimal places.'],
    [wholeNumberProblem('logo_max_kb', 5), 'Enter a value from 10 to 10,000.'],
    [{ code: 'TOO_PRECISE' } as const, 'Enter at most 6 decimal places.'],
  ])('the text of %o is %s', (problem, text) => {
    expect(problem && problemText(problem, texts.en)).toBe(text);
  });

  it.each([
    [[], undefined],
    [undefined, undefined],
    [['https://gitlab.com', 'https://git.example:8443/group'], undefined],
    [['gitlab.com'], 'ADDRESSES'],
    [['https://gitlab.com/'], 'ADDRESSES'],
    [['https://user@gitlab.com'], 'ADDRESSES'],
    [['https://gitlab.com', 'https://gitlab.com'], 'ADDRESSES'],
    [Array.from({ length: 11 }, (_, index) => `https://ci${index}.example`), 'ADDRESSES'],
  ])('%j as issuers is %s', (addresses, code) => {
    expect(issuersProblem(addresses)?.code).toBe(code);
  });
});
