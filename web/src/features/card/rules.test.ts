import { describe, expect, test } from 'vitest';
import { cardError, expiryOf, groupedExpiry, groupedNumber, passesLuhn, TEST_CARDS } from './rules';

const card = { number: '4242 4242 4242 4242', expiry: '12 / 30', cvc: '123', name: 'Mei' };
const now = new Date(2026, 10, 21);

describe('a card', () => {
  test('number is grouped as printed', () => {
    expect(groupedNumber('4242-4242 42424242')).toBe('4242 4242 4242 4242');
    expect(groupedNumber('378282246310005')).toBe('3782 822463 10005');
    expect(groupedNumber('42424')).toBe('4242 4');
  });

  test.each([
    ['1230', '12 / 30'],
    ['12/30', '12 / 30'],
    ['12 / 2030', '12 / 30'],
    ['4', '04'],
    ['430', '04 / 30'],
    ['1', '1'],
  ])('expiry %s is formatted as %s', (typed, shown) => {
    expect(groupedExpiry(typed)).toBe(shown);
  });

  test('number has a check digit; every test card passes', () => {
    for (const { number } of TEST_CARDS) expect([number, passesLuhn(number)]).toEqual([number, true]);
    expect(passesLuhn('4242424242424241')).toBe(false);
  });

  test('is valid through the end of its expiry month', () => {
    expect(cardError('expiry', { ...card, expiry: '11 / 26' }, now)).toBeNull();
    expect(cardError('expiry', { ...card, expiry: '10 / 26' }, now)).toBe('error.expired');
    expect(cardError('expiry', { ...card, expiry: '13 / 26' }, now)).toBe('error.expiry');
    expect(expiryOf('12 / 30')).toEqual({ month: '12', year: '2030' });
  });

  test('has an error for each invalid field', () => {
    expect(cardError('number', { ...card, number: '4242' }, now)).toBe('error.number');
    expect(cardError('number', { ...card, number: '4242 4242 4242 4241' }, now)).toBe('error.numberInvalid');
    expect(cardError('cvc', { ...card, cvc: '12' }, now)).toBe('error.cvc');
    expect(cardError('name', { ...card, name: ' ' }, now)).toBe('error.name');
    expect(cardError('number', card, now)).toBeNull();
  });
});
