import { dialCodes } from '@/lib/countries';

/** What libphonenumber answers us: null when the text is no valid number. */
export type PhoneReader = (text: string, country: string) => string | null;

const separators = /[\s().\-/]/g;

/** Used when the library could not be loaded: plus and 7 to 15 digits, the country's code put in front. */
export const patternReader: PhoneReader = (text, country) => {
  const bare = text.replace(separators, '');
  const international = bare.startsWith('00') ? `+${bare.slice(2)}` : bare;
  const candidate = international.startsWith('+')
    ? international
    : `+${dialCodes[country] ?? ''}${international.replace(/^0+/, '')}`;
  return /^\+[1-9]\d{6,14}$/.test(candidate) ? candidate : null;
};

let loading: Promise<PhoneReader> | null = null;

/** Loads the number rules once, when somebody is about to type a number; falls back to the pattern. */
export function loadPhoneReader(): Promise<PhoneReader> {
  loading ??= import('libphonenumber-js/min')
    .then(
      ({ parsePhoneNumberFromString }): PhoneReader =>
        (text, country) => {
          const parsed = parsePhoneNumberFromString(text, { defaultCountry: country.toUpperCase() as never });
          return parsed?.isValid() ? parsed.number : null;
        },
    )
    .catch(() => {
      loading = null;
      return patternReader;
    });
  return loading;
}

/** Splits a stored international number into country and what the box shows. */
export function splitPhone(phone: string, fallbackCountry: string): { country: string; number: string } {
  const bare = phone.replace(separators, '');
  if (!bare.startsWith('+')) return { country: fallbackCountry, number: phone };
  const digits = bare.slice(1);
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
