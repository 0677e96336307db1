import type { Address } from '@/api/types';
import { countryName } from '@/lib/format';
import type { Locale } from '@/lib/locale';

/** The countries whose addresses end with "City, ST 94105". */
const STATE_BEFORE_POSTAL_CODE = ['au', 'ca', 'us'];

/** An address as its lines on an invoice; none for a country alone. */
export function addressLines(address: Address | null | undefined, language: Locale): string[] {
  if (!address) return [];
  const { line1, line2, city, state, postal_code: postal, country } = address;
  const joined = (parts: (string | null | undefined)[], separator = ' ') => parts.filter(Boolean).join(separator);
  const isStateFirst = STATE_BEFORE_POSTAL_CODE.includes(country?.toLowerCase() ?? '');
  const cityLine = isStateFirst ? joined([city, joined([state, postal])], ', ') : joined([postal, city, state]);
  // A country alone is the preset of a form, not an address that the customer entered.
  if (!line1 && !line2 && !cityLine) return [];
  return [line1, line2, cityLine, country ? countryName(country, language) : ''].filter((line): line is string =>
    Boolean(line),
  );
}
