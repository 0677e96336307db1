import type { Locale } from './locale';

const tag = (locale: Locale) => (locale === 'zh' ? 'zh-CN' : 'en-US');

/** `5 Nov 2026` / `2026年11月5日`, in the reader's time zone. */
export function dayText(iso: string | number | Date, locale: Locale): string {
  return new Intl.DateTimeFormat(tag(locale), { dateStyle: 'medium' }).format(new Date(iso));
}

/** Day, time and zone: for what may be compared with a statement of someone else. */
export function momentText(iso: string | number | Date, locale: Locale): string {
  return new Intl.DateTimeFormat(tag(locale), {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  }).format(new Date(iso));
}

export function timeText(iso: string, locale: Locale): string {
  return new Intl.DateTimeFormat(tag(locale), { hour: '2-digit', minute: '2-digit' }).format(new Date(iso));
}

/** `1,234`, and `1.2K` / `1.2万` where space is short. */
export function countText(count: number, locale: Locale, short = false): string {
  const options: Intl.NumberFormatOptions = short ? { notation: 'compact', maximumFractionDigits: 1 } : {};
  return new Intl.NumberFormat(tag(locale), options).format(count);
}

/** Bytes as `820 kB`, `1.4 MB` (thousands, as file managers of today count). */
export function sizeText(bytes: number, locale: Locale): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;
  const step = bytes < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return new Intl.NumberFormat(tag(locale), {
    style: 'unit',
    unit: units[step],
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: step === 0 ? 0 : 1,
  }).format(bytes / 1000 ** step);
}

const COUNTRIES =
  'AD AE AR AT AU BE BG BR CA CH CL CN CO CY CZ DE DK EE ES FI FR GB GR HK HR HU ID IE IL IN IS IT JP KR LI LT LU LV MC MO MT MX MY NL NO NZ PH PL PT RO RS RU SA SE SG SI SK TH TR TW UA US VN ZA'.split(
    ' ',
  );

/** Countries and regions by their name in the reader's language; values are lower-case ISO codes, as the kit sends them. */
export function countries(locale: Locale): { value: string; label: string }[] {
  const names = new Intl.DisplayNames([tag(locale)], { type: 'region' });
  return COUNTRIES.map((code) => ({ value: code.toLowerCase(), label: names.of(code) ?? code })).sort((a, b) =>
    a.label.localeCompare(b.label, tag(locale)),
  );
}

export function countryName(code: string, locale: Locale): string {
  try {
    return new Intl.DisplayNames([tag(locale)], { type: 'region' }).of(code.toUpperCase()) ?? code;
  } catch {
    return code;
  }
}
