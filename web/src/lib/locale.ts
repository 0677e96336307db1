/** The languages of all pages. English is the default and the fallback. */
export type Locale = 'en' | 'zh';

export const LANGUAGE_COOKIE = 'nf_lang';
const ONE_YEAR = 365 * 24 * 3600;

/** Every `zh` tag means Chinese, everything else English. */
export function localeOf(tag: string | null | undefined): Locale {
  return /^zh/i.test(tag ?? '') ? 'zh' : 'en';
}

/** The `locale` parameter wins, then the cookie, then the browser's language. */
export function detectLocale(): Locale {
  const parameter = new URLSearchParams(window.location.search).get('locale');
  const cookie = new RegExp(`(?:^|; )${LANGUAGE_COOKIE}=(en|zh)`).exec(document.cookie)?.[1];
  return localeOf(parameter ?? cookie ?? navigator.language);
}

let current: Locale | undefined;
const listeners = new Set<() => void>();

export function locale(): Locale {
  current ??= detectLocale();
  return current;
}

/** Stores the choice for a year, sets `lang` on the document and notifies listeners. */
export function setLocale(next: Locale): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in Firefox and Safari.
  document.cookie = `${LANGUAGE_COOKIE}=${next}; path=/; max-age=${ONE_YEAR}; samesite=lax`;
  document.documentElement.lang = next;
  current = next;
  for (const listener of listeners) listener();
}

/** For `useSyncExternalStore`. */
export function onLocale(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
