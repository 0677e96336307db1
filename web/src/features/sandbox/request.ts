import { loadRefusals } from '@/i18n/spoken';
import type { Account, Claim, Envelope } from './wire';

type Keys = typeof import('./keys');

export type Failure = 'network' | 'signature' | 'expired' | 'mismatch';

/** How a call to the store ended: it asks (more), it is done, or it failed. */
export type Reply =
  | { name: 'asks'; envelope: Envelope; claims: Claim[] }
  | { name: 'done'; message?: string }
  | { name: 'failed'; why: Failure }
  | { name: 'failed'; why: 'told'; message: string };

/**
 * The address of a request from what was scanned, pasted or given in the page's address: the plain address, a deep
 * link with the address encoded twice in it, or the address still encoded. Null when there is none.
 */
export function requestAddress(text: string, origin: string): string | null {
  let candidate = text.trim();
  for (let depth = 0; depth < 4; depth++) {
    if (/^https?%3a/i.test(candidate)) {
      try {
        candidate = decodeURIComponent(candidate);
      } catch {
        return null;
      }
      continue;
    }
    let url: URL;
    try {
      url = new URL(candidate, origin);
    } catch {
      return null;
    }
    const inner = url.searchParams.get('url');
    if (inner && !url.searchParams.has('_t_')) {
      candidate = inner;
      continue;
    }
    const isRequest = /\/api\/did\/[\w-]+\/auth$/.test(url.pathname) && url.searchParams.has('_t_');
    return isRequest && /^https?:$/.test(url.protocol) ? url.href : null;
  }
  return null;
}

const EXPIRED = /not found or expired|expired/i;
const MISMATCH = /user mismatch|wallet user/i;

async function replyOf(keys: Keys, answer: Promise<Response>): Promise<Reply> {
  let body: { appPk?: string; authInfo?: string; error?: string };
  try {
    body = await (await answer).json();
  } catch {
    return { name: 'failed', why: 'network' };
  }
  if (!body.appPk || !body.authInfo) return failure(body.error ?? '');
  const envelope = await keys.openEnvelope(body.appPk, body.authInfo);
  if (!envelope) return { name: 'failed', why: 'signature' };
  if (envelope.status === 'error') return failure(envelope.errorMessage ?? '');
  if (envelope.requestedClaims?.length) return { name: 'asks', envelope, claims: envelope.requestedClaims };
  return { name: 'done', message: envelope.successMessage };
}

async function failure(message: string): Promise<Reply> {
  if (MISMATCH.test(message)) return { name: 'failed', why: 'mismatch' };
  if (EXPIRED.test(message)) return { name: 'failed', why: 'expired' };
  await loadRefusals();
  return { name: 'failed', why: 'told', message: message || 'Unknown error' };
}

/** Asks the store what it wants; it learns that a wallet is there. */
export function ask(keys: Keys, address: string, account: Account | null): Promise<Reply> {
  const url = new URL(address);
  if (account) {
    url.searchParams.set('userDid', account.address);
    url.searchParams.set('userPk', account.publicKey);
  }
  return replyOf(keys, fetch(url, { credentials: 'omit' }));
}

async function send(keys: Keys, address: string, account: Account, payload: object): Promise<Reply> {
  const userInfo = await keys.seal(account, payload);
  const call = fetch(address, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ userPk: account.publicKey, userInfo }),
    credentials: 'omit',
  });
  return replyOf(keys, call);
}

export async function accept(keys: Keys, envelope: Envelope, address: string, account: Account): Promise<Reply> {
  const requestedClaims = [];
  for (const claim of envelope.requestedClaims ?? []) requestedClaims.push(await keys.answerClaim(account, claim));
  return send(keys, address, account, { action: 'responseAuth', challenge: envelope.challenge, requestedClaims });
}

export const decline = (keys: Keys, envelope: Envelope, address: string, account: Account): Promise<Reply> =>
  send(keys, address, account, { action: 'declineAuth', challenge: envelope.challenge, requestedClaims: [] });
