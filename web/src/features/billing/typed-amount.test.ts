import { expect, it } from 'vitest';
import { amountError } from './typed-amount';

it.each([
  ['', 2, 'amountWrong'],
  ['0', 2, 'amountWrong'],
  ['-1', 2, 'amountWrong'],
  ['1,5', 2, 'amountWrong'],
  ['five', 2, 'amountWrong'],
  ['1.234', 2, 'amountWrong'],
  ['5.01', 2, 'amountMost'],
  ['5', 2, null],
  [' 0.01 ', 2, null],
  ['0.000000000000000001', 18, null],
  ['0.0000000000000000001', 18, 'amountWrong'],
  ['5.000000000000000001', 18, 'amountMost'],
] as const)('%j with %i decimals, of five: %s', (typed, decimals, error) => {
  expect(amountError(typed, decimals, 5n * 10n ** BigInt(decimals))).toBe(error);
});
