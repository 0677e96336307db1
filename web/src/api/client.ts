import { loadErrorMessages } from '@/i18n/translate';
import { keptLivemode, livemode, setLivemode } from '@/lib/livemode';
import { locale } from '@/lib/locale';
import { ApiError } from './error';
import type { StoreInfo } from './types';

/** SPEC.md and the kit's clients wait this long for an answer. */
const TIMEOUT_MS = 30_000;

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface CallOptions {
  query?: Query;
  body?: unknown;
  /** Writes carry one of their own unless the caller repeats an earlier attempt with its key. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** The pages work at the root and under the kit's mount prefix; calls go where the page came from. */
export function mountPrefix(path = window.location.pathname): string {
  return path === '/payment' || path.startsWith('/payment/') ? '/payment' : '';
}

/** 128 random bits in the form of a UUID; `crypto.randomUUID` is absent on plain http. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

let more = (): Query => ({});

/** What the page adds to each of its calls. */
export const setDefaultParams = (parameters: () => Query): void => {
  more = parameters;
};

/** The address of a call, with `locale` and `livemode` and no empty parameters. */
export function callAddress(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  const all: Query = { ...more(), ...query, locale: query.locale ?? locale(), livemode: query.livemode ?? livemode() };
  for (const [key, value] of Object.entries(all)) {
    if (value !== undefined && value !== null && value !== '') params.append(key, String(value));
  }
  return `${mountPrefix()}${path}?${params}`;
}

/** What the server wrote into the page; absent where the page came from elsewhere. */
function writtenStore(): StoreInfo | undefined {
  const written = document.getElementById('store')?.textContent;
  return written ? (JSON.parse(written) as StoreInfo) : undefined;
}

/** Who this store is, where the page itself says so. */
export const knownStore = writtenStore();

let storeInfo: Promise<StoreInfo> | undefined = knownStore && Promise.resolve(knownStore);

/** Who this store is; asked at most once per page. */
export function fetchStore(): Promise<StoreInfo> {
  storeInfo ??= call<StoreInfo>('GET', '/api/store').catch((error) => {
    storeInfo = undefined;
    throw error;
  });
  return storeInfo;
}

/** A fresh browser in a demo store begins in test mode, so that nobody looks for real money there. */
async function beginMode(): Promise<void> {
  if (keptLivemode() !== undefined) return;
  if (knownStore) return setLivemode(!knownStore.demo);
  const { demo } = await fetchStore();
  if (keptLivemode() === undefined) setLivemode(!demo);
}

/** A payment that was refused is told in the answer about its order. */
const TELLS_OF_A_REFUSAL = /"last_payment_error":\s*\{/;

async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  if (path !== '/api/store') await beginMode();
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (method !== 'GET') headers['Idempotency-Key'] = options.idempotencyKey ?? idempotencyKey();
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
  const answer = await fetch(callAddress(path, options.query), {
    method,
    headers,
    credentials: 'same-origin',
    signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  const text = await answer.text();
  const data = parsed(text);
  if (!answer.ok || TELLS_OF_A_REFUSAL.test(text)) await loadErrorMessages();
  if (!answer.ok) throw new ApiError(`Request failed with status code ${answer.status}`, answer.status, data);
  return data as T;
}

function parsed(text: string): unknown {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const ahead = new Map<string, Promise<unknown>>();

/** Asks for what the page is going to ask for, before the scripts that show it are there. */
export async function prefetch(path: string, query?: Query): Promise<void> {
  await beginMode();
  const answer = call<unknown>('GET', path, { query });
  // Whoever takes the answer hears of its failure.
  answer.catch(() => undefined);
  ahead.set(callAddress(path, query), answer);
}

/** Each answer that was asked for ahead is taken once. */
async function get<T>(path: string, options: CallOptions): Promise<T> {
  if (ahead.size > 0) {
    await beginMode();
    const address = callAddress(path, options.query);
    const answer = ahead.get(address) as Promise<T> | undefined;
    ahead.delete(address);
    if (answer) return answer;
  }
  return call<T>('GET', path, options);
}

/** Typed calls of both halves of the web client. Refusals are thrown as `ApiError`. */
export const api = {
  get: <T>(path: string, query?: Query, options?: CallOptions) => get<T>(path, { ...options, query }),
  post: <T>(path: string, body?: unknown, options?: CallOptions) => call<T>('POST', path, { ...options, body }),
  put: <T>(path: string, body?: unknown, options?: CallOptions) => call<T>('PUT', path, { ...options, body }),
  delete: <T>(path: string, options?: CallOptions) => call<T>('DELETE', path, options),
};
