import type { Locale } from './locale';

const localeTag = (locale: Locale) => (locale === 'zh' ? 'zh-CN' : 'en-US');

/** `5 Nov 2026` / `2026年11月5日`, in the reader's time zone. */
export function dateText(iso: string | number | Date, locale: Locale): string {
  return new Intl.DateTimeFormat(localeTag(locale), { dateStyle: 'medium' }).format(new Date(iso));
}

/** `November 2026` / `2026年11月`; months count from 1. */
export function monthText(year: number, month: number, locale: Locale): string {
  return new Intl.DateTimeFormat(localeTag(locale), { year: 'numeric', month: 'long', timeZone: 'UTC' }).format(
    Date.UTC(year, month - 1),
  );
}

/** Date, time and time zone, for values that may be compared with other statements. */
export function dateTimeText(iso: string | number | Date, locale: Locale): string {
  const format = new Intl.DateTimeFormat(localeTag(locale), {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: locale === 'zh' ? '2-digit' : 'numeric',
    minute: '2-digit',
    timeZoneName: 'short',
  });
  if (locale === 'en') return format.format(new Date(iso));
  // In Chinese, Intl puts the time zone between the date and the time.
  const parts = format.formatToParts(new Date(iso));
  const zone = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const rest = parts.filter(({ type }) => type !== 'timeZoneName').map(({ value }) => value);
  return `${rest.join('').replace(/\s+/g, ' ').trim()}（${zone}）`;
}

/** Unix seconds as the value of a `datetime-local` input, in the reader's zone. */
export function localInput(seconds: number): string {
  const date = new Date(seconds * 1000);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

export function timeText(iso: string, locale: Locale): string {
  return new Intl.DateTimeFormat(localeTag(locale), {
    hour: locale === 'zh' ? '2-digit' : 'numeric',
    minute: '2-digit',
  }).format(new Date(iso));
}

/** `1,234`, or `1.2K` / `1.2万` if `compact`. */
export function countText(count: number, locale: Locale, compact = false): string {
  const options: Intl.NumberFormatOptions = compact
    ? { notation: 'compact', maximumFractionDigits: 1, useGrouping: 'always' }
    : {};
  return new Intl.NumberFormat(localeTag(locale), options).format(count);
}

/** Bytes as `820 kB` or `1.4 MB` (in steps of 1000, like file managers), without a line break. Intl puts no space before 字节. */
export function sizeText(bytes: number, locale: Locale): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;
  const step = bytes < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return new Intl.NumberFormat(localeTag(locale), {
    style: 'unit',
    unit: units[step],
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: step === 0 ? 0 : 1,
  })
    .format(bytes / 1000 ** step)
    .replace(/ ?(?=\p{L})/u, '\u00a0');
}

export function countryName(code: string, locale: Locale): string {
  try {
    return new Intl.DisplayNames([localeTag(locale)], { type: 'region' }).of(code.toUpperCase()) ?? code;
  } catch {
    return code;
  }
}
