import { api, prefetch } from '@/api/client';
import { ApiError } from '@/api/error';
import type { SubmitBody } from './rules/fields';
import type { Checkout, CheckoutSession, Customer, FastPayInfo, Submitted } from './wire';

const DEDUPE_MS = 3000;
const started = new Map<string, Promise<Checkout>>();

let ahead: { linkId: string; answer: Promise<Checkout> } | undefined;

/** Starts a link before the screen is there; the first `start` of it takes the answer, however late it comes. */
export function prefetchStart(linkId: string, pageQuery: URLSearchParams): void {
  const answer = postStart(linkId, pageQuery);
  // Whoever takes the answer hears of its failure.
  answer.catch(() => undefined);
  ahead = { linkId, answer };
}

const postStart = (linkId: string, pageQuery: URLSearchParams) =>
  api.post<Checkout>(`/api/checkout-sessions/start/${linkId}`, undefined, { query: Object.fromEntries(pageQuery) });

/** Makes a session of a payment link. Repeated starts of one link within 3 s share the first answer. */
export function start(linkId: string, pageQuery: URLSearchParams): Promise<Checkout> {
  const known = started.get(linkId);
  if (known) return known;
  const answer = ahead?.linkId === linkId ? ahead.answer : postStart(linkId, pageQuery);
  ahead = undefined;
  started.set(linkId, answer);
  const forget = () => setTimeout(() => started.delete(linkId), DEDUPE_MS);
  answer.then(forget, () => started.delete(linkId));
  return answer;
}

const retrieveAddress = (id: string) => `/api/checkout-sessions/retrieve/${id}`;

export const retrieve = (id: string) => api.get<Checkout>(retrieveAddress(id));

export const prefetchSession = (id: string) => void prefetch(retrieveAddress(id));

/** One tap, one key: the same tap sent again after a lost answer is the same submit. */
export const submit = (id: string, body: SubmitBody, idempotencyKey: string) =>
  api.put<Submitted>(`/api/checkout-sessions/${id}/submit`, body, { idempotencyKey });

/** The wire calls it `itemId`, but it is the id of the price. */
export const adjustQuantity = (id: string, priceId: string, quantity: number) =>
  api.put<CheckoutSession>(`/api/checkout-sessions/${id}/adjust-quantity`, { itemId: priceId, quantity });

/** Pays by what was permitted or is held already, as it was offered and agreed to. */
export const confirmFast = (id: string, { type, amount }: FastPayInfo, idempotencyKey: string) =>
  api.post<{ fastPaid: boolean }>(`/api/checkout-sessions/${id}/fast-checkout-confirm`, undefined, {
    idempotencyKey,
    query: { type, amount },
  });

/** The card form was closed: the intent goes back to where another method can be chosen. */
export const abortCard = (id: string) => api.post<unknown>(`/api/checkout-sessions/${id}/abort-stripe`);

export const fetchCustomer = () => api.get<Customer>('/api/customers/me', { skipSummary: 1, fallback: 1 });

/** Nothing was answered: no network, or too late. Such a call may be repeated. */
export const isLost = (error: unknown) => !(error instanceof ApiError);

const BACKOFF_MS = [1000, 2000, 4000, 8000, 15_000];

/** How long to wait before the n-th repetition (from 0). */
export const backoff = (attempt: number) => BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)] ?? 15_000;

/** Repeats a call whose answer was lost, at most `times` times. `call` must be the same request each time. */
export async function repeated<T>(call: () => Promise<T>, times: number): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!isLost(error) || attempt >= times) throw error;
      await new Promise((resolve) => setTimeout(resolve, backoff(attempt)));
    }
  }
}
