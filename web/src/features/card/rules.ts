import type { Key } from './text';

export const CARD_FIELDS = ['number', 'expiry', 'cvc', 'name'] as const;
export type CardField = (typeof CARD_FIELDS)[number];
export type CardValues = Record<CardField, string>;

export const digitsOf = (text: string) => text.replace(/\D/g, '');

/** Groups digits as printed on cards: 4-4-4-4, American Express 4-6-5. */
export function groupedNumber(text: string): string {
  const digits = digitsOf(text).slice(0, 19);
  const sizes = /^3[47]/.test(digits) ? [4, 6, 5] : [4, 4, 4, 4, 3];
  const groups: string[] = [];
  let at = 0;
  for (const size of sizes) {
    if (at < digits.length) groups.push(digits.slice(at, at + size));
    at += size;
  }
  return groups.join(' ');
}

/** `1227`, `12/27`, `12 / 2027` and autofill's `12/27` all become `12 / 27`. */
export function groupedExpiry(text: string): string {
  let digits = digitsOf(text);
  if (/^[2-9]/.test(digits)) digits = `0${digits}`;
  const year = digits.slice(2);
  const shortYear = year.length === 4 ? year.slice(2) : year.slice(0, 2);
  return digits.length > 2 ? `${digits.slice(0, 2)} / ${shortYear}` : digits;
}

/** Checks the Luhn digit. */
export function passesLuhn(number: string): boolean {
  let sum = 0;
  for (let i = 0; i < number.length; i++) {
    const digit = Number(number[number.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

export interface Expiry {
  month: string;
  /** Four digits. */
  year: string;
}

export function expiryOf(text: string): Expiry | null {
  const digits = digitsOf(groupedExpiry(text));
  const month = Number(digits.slice(0, 2));
  if (digits.length !== 4 || month < 1 || month > 12) return null;
  return { month: digits.slice(0, 2), year: `20${digits.slice(2)}` };
}

/** The error of a card field, if any; `now` decides whether the card has expired. */
export function cardError(field: CardField, values: CardValues, now: Date): Key | null {
  const value = values[field].trim();
  if (field === 'number') {
    const digits = digitsOf(value);
    if (digits.length < 13) return 'error.number';
    return passesLuhn(digits) ? null : 'error.numberInvalid';
  }
  if (field === 'cvc') return /^\d{3,4}$/.test(value) ? null : 'error.cvc';
  if (field === 'name') return value ? null : 'error.name';
  const expiry = expiryOf(value);
  if (!expiry) return 'error.expiry';
  const afterMonth = new Date(Number(expiry.year), Number(expiry.month), 1);
  return afterMonth <= now ? 'error.expired' : null;
}

/** The sandbox's test cards and their behavior. */
export const TEST_CARDS: { number: string; name: Key }[] = [
  { number: '4242424242424242', name: 'test.ok' },
  { number: '4000002500003155', name: 'test.challenge' },
  { number: '4000002760003184', name: 'test.always' },
  { number: '4000000000000002', name: 'test.declined' },
  { number: '4000000000009995', name: 'test.insufficient' },
  { number: '4000000000009987', name: 'test.lost' },
  { number: '4000000000009979', name: 'test.stolen' },
  { number: '4000000000000069', name: 'test.expired' },
  { number: '4000000000000127', name: 'test.cvc' },
  { number: '4000000000000119', name: 'test.processing' },
  { number: '4000000000000341', name: 'test.later' },
  { number: '4000000000000077', name: 'test.slow' },
  { number: '4000000000006009', name: 'test.never' },
  { number: '4000000000000259', name: 'test.fraud' },
  { number: '4000000000002685', name: 'test.notReceived' },
  { number: '4000000000001976', name: 'test.inquiry' },
  { number: '4000000000007726', name: 'test.refundLater' },
  { number: '4000000000005126', name: 'test.refundFails' },
];
