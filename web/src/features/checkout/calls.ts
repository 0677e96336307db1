import { api, prefetch } from '@/api/client';
import { ApiError } from '@/api/error';
import type { SubmitBody } from './rules/fields';
import type { Checkout, CheckoutSession, Customer, FastPayInfo, Submitted } from './types';

const DEDUPE_MS = 3000;
const started = new Map<string, Promise<Checkout>>();

let prefetched: { linkId: string; response: Promise<Checkout> } | undefined;

/** Starts a payment link before the page's scripts have loaded. The first `start` of the link uses the response. */
export function prefetchStart(linkId: string, pageQuery: URLSearchParams): void {
  const response = postStart(linkId, pageQuery);
  // The consumer of the response handles the error.
  response.catch(() => undefined);
  prefetched = { linkId, response };
}

const postStart = (linkId: string, pageQuery: URLSearchParams) =>
  api.post<Checkout>(`/api/checkout-sessions/start/${linkId}`, undefined, { query: Object.fromEntries(pageQuery) });

/** Creates a session from a payment link. Repeated starts of a link within 3 s share one response. */
export function start(linkId: string, pageQuery: URLSearchParams): Promise<Checkout> {
  const existing = started.get(linkId);
  if (existing) return existing;
  const response = prefetched?.linkId === linkId ? prefetched.response : postStart(linkId, pageQuery);
  prefetched = undefined;
  started.set(linkId, response);
  const expire = () => setTimeout(() => started.delete(linkId), DEDUPE_MS);
  response.then(expire, () => started.delete(linkId));
  return response;
}

const retrieveUrl = (id: string) => `/api/checkout-sessions/retrieve/${id}`;

export const retrieve = (id: string) => api.get<Checkout>(retrieveUrl(id));

export const prefetchSession = (id: string) => void prefetch(retrieveUrl(id));

/** The idempotency key makes retries of one click a single submit. */
export const submit = (id: string, body: SubmitBody, idempotencyKey: string) =>
  api.put<Submitted>(`/api/checkout-sessions/${id}/submit`, body, { idempotencyKey });

/** The API calls it `itemId`, but it is the id of the price. */
export const adjustQuantity = (id: string, priceId: string, quantity: number) =>
  api.put<CheckoutSession>(`/api/checkout-sessions/${id}/adjust-quantity`, { itemId: priceId, quantity });

/** Pays with the offered mandate or balance. */
export const confirmFast = (id: string, { type, amount }: FastPayInfo, idempotencyKey: string) =>
  api.post<{ fastPaid: boolean }>(`/api/checkout-sessions/${id}/fast-checkout-confirm`, undefined, {
    idempotencyKey,
    query: { type, amount },
  });

/** Cancels the card intent when its form closes, so that another method can be chosen. */
export const abortCard = (id: string) => api.post<unknown>(`/api/checkout-sessions/${id}/abort-stripe`);

export const fetchCustomer = () => api.get<Customer>('/api/customers/me', { skipSummary: 1, fallback: 1 });

/** No response (offline or timeout); such a request can be retried. */
export const isNetworkError = (error: unknown) => !(error instanceof ApiError);

const BACKOFF_MS = [1000, 2000, 4000, 8000, 15_000];

/** The wait before the n-th retry (from 0). */
export const backoff = (attempt: number) => BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)] ?? 15_000;

/** Retries after network errors, at most `times` times. `call` must send the same request each time. */
export async function withRetries<T>(call: () => Promise<T>, times: number): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!isNetworkError(error) || attempt >= times) throw error;
      await new Promise((resolve) => setTimeout(resolve, backoff(attempt)));
    }
  }
}
