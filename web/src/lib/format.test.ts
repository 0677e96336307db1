import { describe, expect, it } from 'vitest';
import { countryName, countText, dateTimeText, localInput, sizeText } from './format';

describe('number formatting', () => {
  it('formats sizes in steps of 1000 bytes', () => {
    expect(sizeText(412, 'en')).toBe('412\u00a0bytes');
    expect(sizeText(1000, 'en')).toBe('1\u00a0kB');
    expect(sizeText(1_440_000, 'en')).toBe('1.4\u00a0MB');
    expect(sizeText(0, 'en')).toBe('0\u00a0bytes');
    expect(sizeText(412, 'zh')).toBe('412\u00a0字节');
    expect(sizeText(1_440_000, 'zh')).toBe('1.4\u00a0MB');
  });

  it('abbreviates counts in each language', () => {
    expect(countText(12_300, 'en', true)).toBe('12.3K');
    expect(countText(12_300, 'zh', true)).toBe('1.2万');
    expect(countText(12_340_000, 'zh', true)).toBe('1,234万');
    expect(countText(12_300, 'en')).toBe('12,300');
  });

  it('names countries in the language, and keeps an unknown code', () => {
    expect(countryName('de', 'zh')).toBe('德国');
    expect(countryName('??', 'en')).toBe('??');
  });
});

it('formats a datetime-local value that parses back to the same minute', () => {
  const seconds = 1_795_000_020;
  expect(Math.floor(new Date(localInput(seconds)).getTime() / 1000)).toBe(seconds - (seconds % 60));
});

it('puts the time zone after the time in both languages', () => {
  const at = new Date(2026, 10, 25, 18, 8);
  expect(dateTimeText(at, 'en')).toMatch(/^Nov 25, 2026, 6:08\sPM \S+$/);
  expect(dateTimeText(at, 'zh')).toMatch(/^2026年11月25日 18:08（\S+）$/);
});
