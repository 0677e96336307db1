import { loadErrorMessages } from '@/i18n/translate';
import { livemode, setLivemode, storedLivemode } from '@/lib/livemode';
import { locale } from '@/lib/locale';
import { ApiError } from './error';
import type { StoreInfo } from './types';

/** Request timeout, as in SPEC.md and the kit's clients. */
const TIMEOUT_MS = 30_000;

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface CallOptions {
  query?: Query;
  /** A file is sent as it is, anything else as JSON. */
  body?: unknown;
  /** Each write gets a new key by default. Pass the key of an earlier attempt to retry it. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** The pages work at the root and under the kit's mount prefix. API calls use the prefix of the page. */
export function mountPrefix(path = window.location.pathname): string {
  return path === '/payment' || path.startsWith('/payment/') ? '/payment' : '';
}

/** 128 random bits in the form of a UUID; `crypto.randomUUID` is absent on plain http. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

let defaultParams = (): Query => ({});

/** Sets query parameters for every API call of this page. */
export const setDefaultParams = (parameters: () => Query): void => {
  defaultParams = parameters;
};

/** The URL of an API call, with `locale` and `livemode` and without empty parameters. */
export function apiUrl(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  const all: Query = {
    ...defaultParams(),
    ...query,
    locale: query.locale ?? locale(),
    livemode: query.livemode ?? livemode(),
  };
  for (const [key, value] of Object.entries(all)) {
    if (value !== undefined && value !== null && value !== '') params.append(key, String(value));
  }
  return `${mountPrefix()}${path}?${params}`;
}

/** The store info that the server embeds in its HTML; undefined if the page came from another origin. */
function readEmbeddedStore(): StoreInfo | undefined {
  const json = document.getElementById('store')?.textContent;
  return json ? (JSON.parse(json) as StoreInfo) : undefined;
}

/** The store info from the HTML, if present. */
export const embeddedStore = readEmbeddedStore();

let storeInfo: Promise<StoreInfo> | undefined = embeddedStore && Promise.resolve(embeddedStore);

/** The store info; fetched at most once per page. */
export function fetchStore(): Promise<StoreInfo> {
  storeInfo ??= call<StoreInfo>('GET', '/api/store').catch((error) => {
    storeInfo = undefined;
    throw error;
  });
  return storeInfo;
}

/** A new browser starts a demo store in test mode, because a demo store has no real money. */
async function initLivemode(): Promise<void> {
  if (storedLivemode() !== undefined) return;
  if (embeddedStore) return setLivemode(!embeddedStore.demo);
  const { demo } = await fetchStore();
  if (storedLivemode() === undefined) setLivemode(!demo);
}

/** A failed payment is reported in a successful response, so its error messages are loaded as well. */
const HAS_PAYMENT_ERROR = /"last_payment_error":\s*\{/;

async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  if (path !== '/api/store') await initLivemode();
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (method !== 'GET') headers['Idempotency-Key'] = options.idempotencyKey ?? idempotencyKey();
  const { body } = options;
  const isFile = body instanceof Blob;
  if (body !== undefined)
    headers['Content-Type'] = isFile ? body.type || 'application/octet-stream' : 'application/json';
  const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
  const response = await fetch(apiUrl(path, options.query), {
    method,
    headers,
    credentials: 'same-origin',
    signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
    ...(body === undefined ? {} : { body: isFile ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const data = parseJson(text);
  if (!response.ok || HAS_PAYMENT_ERROR.test(text)) await loadErrorMessages();
  if (!response.ok) throw new ApiError(`Request failed with status code ${response.status}`, response.status, data);
  return data as T;
}

function parseJson(text: string): unknown {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const prefetched = new Map<string, Promise<unknown>>();

/** Starts a GET request before the page's scripts have loaded. The next `api.get` of the same URL uses its response. */
export async function prefetch(path: string, query?: Query): Promise<void> {
  await initLivemode();
  const response = call<unknown>('GET', path, { query });
  // The consumer of the response handles the error.
  response.catch(() => undefined);
  prefetched.set(apiUrl(path, query), response);
}

/** Uses a prefetched response once, else sends the request. */
async function get<T>(path: string, options: CallOptions): Promise<T> {
  if (prefetched.size > 0) {
    await initLivemode();
    const url = apiUrl(path, options.query);
    const response = prefetched.get(url) as Promise<T> | undefined;
    prefetched.delete(url);
    if (response) return response;
  }
  return call<T>('GET', path, options);
}

/** Typed API calls. Error responses are thrown as `ApiError`. */
export const api = {
  get: <T>(path: string, query?: Query, options?: CallOptions) => get<T>(path, { ...options, query }),
  post: <T>(path: string, body?: unknown, options?: CallOptions) => call<T>('POST', path, { ...options, body }),
  put: <T>(path: string, body?: unknown, options?: CallOptions) => call<T>('PUT', path, { ...options, body }),
  delete: <T>(path: string, options?: CallOptions) => call<T>('DELETE', path, options),
};
