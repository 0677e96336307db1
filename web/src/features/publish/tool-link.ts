/** The tokens of connect sessions: 128 bits in hex. */
const TOKEN = /^[0-9a-f]{32}$/;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The search parameters with which tools open their pages (reference/store.md 5.2). */
export interface ToolSearch {
  __connect_url__?: string;
  closeOnSuccess?: string;
}

const text = (value: unknown) => (typeof value === 'string' && value ? value : undefined);

export const toolSearch = (raw: Record<string, unknown>): ToolSearch => ({
  __connect_url__: text(raw.__connect_url__),
  closeOnSuccess: text(raw.closeOnSuccess),
});

/** Tools send `1` or `true`. */
export const closesOnSuccess = (value: string | undefined): boolean =>
  value !== undefined && value !== '0' && value !== 'false';

/**
 * The token of a tool's session, from the address that the store gave to the tool. The address comes from whoever made
 * the link, so nothing else of it is used: the page calls only its own store.
 */
export function toolToken(encoded: string | undefined, origins: (string | undefined)[]): string | null {
  const url = decoded(encoded ?? '');
  if (!url || !origins.some((origin) => origin && isOrigin(url, origin))) return null;
  const token = url.searchParams.get('_t_') ?? '';
  return TOKEN.test(token) ? token : null;
}

/** Reads base64url, with or without padding. */
function decoded(encoded: string): URL | null {
  try {
    return new URL(atob(encoded.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    return null;
  }
}

/** Whether an address is of this origin. The names of the own machine are one host, as for the server. */
function isOrigin(url: URL, origin: string): boolean {
  const own = new URL(origin);
  const isSameHost = url.hostname === own.hostname || (LOOPBACK.has(url.hostname) && LOOPBACK.has(own.hostname));
  return url.protocol === own.protocol && url.port === own.port && isSameHost;
}
