import { dialCodes } from '@/lib/countries';

/** Returns the international number, or null if the text is not valid. */
export type PhoneReader = (text: string, country: string) => string | null;

const separators = /[\s().\-/]/g;

/** Fallback without the library: a plus and 7 to 15 digits, prefixed with the country's dial code. */
export const patternReader: PhoneReader = (text, country) => {
  const stripped = text.replace(separators, '');
  const international = stripped.startsWith('00') ? `+${stripped.slice(2)}` : stripped;
  const candidate = international.startsWith('+')
    ? international
    : `+${dialCodes[country] ?? ''}${international.replace(/^0+/, '')}`;
  return /^\+[1-9]\d{6,14}$/.test(candidate) ? candidate : null;
};

let loadingReader: Promise<PhoneReader> | null = null;

/** Loads libphonenumber once, when a phone field gets the focus; falls back to the pattern. */
export function loadPhoneReader(): Promise<PhoneReader> {
  loadingReader ??= import('libphonenumber-js/min')
    .then(
      ({ parsePhoneNumberFromString }): PhoneReader =>
        (text, country) => {
          const parsed = parsePhoneNumberFromString(text, { defaultCountry: country.toUpperCase() as never });
          return parsed?.isValid() ? parsed.number : null;
        },
    )
    .catch(() => {
      loadingReader = null;
      return patternReader;
    });
  return loadingReader;
}

/** Splits a stored international number into country and national number. */
export function splitPhone(phone: string, fallbackCountry: string): { country: string; number: string } {
  const stripped = phone.replace(separators, '');
  if (!stripped.startsWith('+')) return { country: fallbackCountry, number: phone };
  const digits = stripped.slice(1);
  const preferred = dialCodes[fallbackCountry];
  if (preferred && digits.startsWith(preferred))
    return { country: fallbackCountry, number: digits.slice(preferred.length) };
  const matches = Object.entries(dialCodes).filter(([, dial]) => digits.startsWith(dial));
  const longest = Math.max(0, ...matches.map(([, dial]) => dial.length));
  const candidates = matches.filter(([, dial]) => dial.length === longest).map(([code]) => code);
  const country =
    candidates.find((code) => code === 'us') ??
    candidates.find((code) => code === 'gb') ??
    candidates.find((code) => code === 'ru') ??
    candidates[0];
  return country ? { country, number: digits.slice(longest) } : { country: fallbackCountry, number: phone };
}
