import { describe, expect, it } from 'vitest';
import { countryName, countText, localInput, sizeText } from './format';

describe('numbers for readers', () => {
  it('give sizes in thousands of bytes', () => {
    expect(sizeText(412, 'en')).toBe('412 bytes');
    expect(sizeText(1000, 'en')).toBe('1 kB');
    expect(sizeText(1_440_000, 'en')).toBe('1.4 MB');
    expect(sizeText(0, 'en')).toBe('0 bytes');
  });

  it('shorten counts the way each language does', () => {
    expect(countText(12_300, 'en', true)).toBe('12.3K');
    expect(countText(12_300, 'zh', true)).toBe('1.2万');
    expect(countText(12_300, 'en')).toBe('12,300');
  });

  it('name a country in the language, and leave an unknown code as it is', () => {
    expect(countryName('de', 'zh')).toBe('德国');
    expect(countryName('??', 'en')).toBe('??');
  });
});

it('writes a moment as a date field reads it: the same minute comes back', () => {
  const seconds = 1_795_000_020;
  expect(Math.floor(new Date(localInput(seconds)).getTime() / 1000)).toBe(seconds - (seconds % 60));
});
