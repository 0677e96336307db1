// @vitest-environment happy-dom
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DECIMAL_RANGES, decimalProblem, RANGES, wholeNumberProblem } from './preferences';

const source = readFileSync(
  join(import.meta.dirname, '../../../../crates/domain/src/publishing/preferences.rs'),
  'utf8',
);

describe('the settings', () => {
  it('have the ranges of the server', () => {
    const ranges = [...source.matchAll(/check\.range\("(\w+)", [\w.]+, ([\d_]+), ([\d_]+)\)/g)];
    const server = Object.fromEntries(
      ranges.map(([, field = '', min = '', max = '']) => [
        field,
        [Number(min.replace('_', '')), Number(max.replace('_', ''))],
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
    ['0.25', undefined],
    ['0.1000000000', undefined],
    [' 1 ', undefined],
    ['1.000001', 'OUT_OF_RANGE'],
    ['0.0000001', 'TOO_PRECISE'],
    ['0,3', 'INVALID'],
    ['-1', 'INVALID'],
    ['1e3', 'INVALID'],
    ['', 'REQUIRED'],
  ])('%s as a share is %s', (text, code) => {
    expect(decimalProblem('store_share', text)?.code).toBe(code);
  });
});
