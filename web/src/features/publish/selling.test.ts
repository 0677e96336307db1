// @vitest-environment happy-dom
import { expect, it } from 'vitest';
import { isTwice, millionths, percentText, priceError, sharesMost, sharesSum, storePercent } from './selling';

const limits = { price_min: '1', price_max: '10000' };

it('reads percentages exactly, with at most four decimals', () => {
  expect(millionths('33.3333')).toBe(333_333n);
  expect(millionths(' 100 ')).toBe(1_000_000n);
  for (const wrong of ['', '0', '0.0', '-1', '1e1', '33.33333', 'half', undefined])
    expect(millionths(wrong)).toBeNull();
  expect(percentText(333_333n)).toBe('33.3333');
});

it('leaves the commission and the rest to the store', () => {
  expect(sharesMost('15')).toBe(850_000n);
  expect(sharesMost('0')).toBe(1_000_000n);
  const shares = [{ percent: '60' }, { percent: '20.5' }, { percent: 'x' }, undefined];
  expect(sharesSum(shares)).toBe(805_000n);
  expect(storePercent(shares)).toBe('19.5');
  expect(storePercent([{ percent: '60' }, { percent: '60' }])).toBe('0');
});

it('finds a beneficiary that has a share already', () => {
  const shares = [{ beneficiary: 'z1a' }, { beneficiary: ' z1a ' }, {}, {}];
  expect(shares.map((_, index) => isTwice(shares, index))).toEqual([false, true, false, false]);
});

it('checks a price against the currency and the limits of the store', () => {
  expect(priceError('9.99', 2, limits)).toBeUndefined();
  expect(priceError('10000', 2, limits)).toBeUndefined();
  expect(priceError('9.999', 2, limits)).toBe('price.decimals');
  expect(priceError('0.99', 2, limits)).toBe('price.range');
  expect(priceError('10000.01', 2, limits)).toBe('price.range');
  expect(priceError('0', 2, { ...limits, price_min: '0' })).toBe('price.range');
  for (const wrong of ['', '-1', '1,5', '.5', '1e3', undefined])
    expect(priceError(wrong, 2, limits)).toBe('price.number');
  // The limit cannot be written in this currency, so the server decides.
  expect(priceError('1', 0, { price_min: '1.5', price_max: '9' })).toBeUndefined();
});
