import { describe, expect, test } from 'vitest';
import { formatAmount, formatMoney, formatRounded, parseDecimal, toUnits } from './amount';

describe('exact amounts', () => {
  test('one base unit of an 18-decimal token keeps every digit', () => {
    expect(formatAmount('1', 18)).toBe('0.000000000000000001');
  });

  test('amounts beyond 2^53 stay exact', () => {
    expect(formatAmount('12345678901234567890500000000000000000', 18)).toBe('12345678901234567890.5');
  });

  test('a currency without decimals has no point', () => {
    expect(formatAmount('120', 0)).toBe('120');
  });

  test('a negative amount keeps its sign', () => {
    expect(formatAmount('-150', 2)).toBe('-1.5');
  });
});

describe('rounded amounts', () => {
  test.each([
    ['1234567890123456789012', 18, '1,234.56789'],
    ['1', 18, '0'],
    ['', 18, '0'],
    ['12345678901234567890500000000000000000', 18, '12,345,678,901,234,567,890.5'],
    ['500000000000', 18, '0.000001'],
    ['499999999999', 18, '0'],
    ['-1', 18, '0'],
    ['1999999999999999999', 18, '2'],
    ['150', 2, '1.5'],
  ])('%s with %i decimals reads %s', (amount, decimals, text) => {
    expect(formatRounded(amount, decimals)).toBe(text);
  });
});

describe('parsing', () => {
  test.each([
    ['5', 18, '5000000000000000000'],
    ['0.01', 2, '1'],
    ['0.001', 2, null],
    ['1e3', 2, null],
    ['-1', 2, null],
    ['', 2, null],
  ])('"%s" with %i decimals is %s', (text, decimals, units) => {
    expect(parseDecimal(text, decimals)).toBe(units);
  });

  test('invalid base units count as zero', () => {
    expect(toUnits('1.5')).toBe(0n);
    expect(toUnits(null)).toBe(0n);
  });
});

describe('money', () => {
  test('a card currency is formatted for the language', () => {
    expect(formatMoney('500', { symbol: 'USD', decimal: 2 }, 'en')).toBe('$5.00');
    expect(formatMoney('500', { symbol: 'USD', decimal: 2 }, 'zh')).toBe('US$5.00');
  });

  test('a token is formatted with its symbol, even if it is called USD', () => {
    expect(formatMoney('1500000000000000000', { symbol: 'TBA', decimal: 18 }, 'en')).toBe('1.5 TBA');
    expect(formatMoney('1500000000000000000', { symbol: 'USD', decimal: 18 }, 'en')).toBe('1.5 USD');
  });
});
