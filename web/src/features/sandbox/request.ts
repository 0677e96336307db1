import { loadErrorMessages, type Problem } from '@/i18n/translate';
import type { Account, Claim, Envelope } from './types';

type Keys = typeof import('./keys');

export type Failure = 'network' | 'signature' | 'expired' | 'mismatch';

/** The result of a call to the store: a request, completion, or a failure. */
export type Reply =
  | { name: 'request'; envelope: Envelope; claims: Claim[] }
  | { name: 'done'; message?: string }
  | { name: 'failed'; reason: Failure }
  | { name: 'failed'; reason: 'problem'; problem: Problem };

/**
 * The request URL in a scanned or pasted text or query parameter: plain, encoded, or doubly encoded in a deep link.
 * Null if there is none.
 */
export function parseRequestUrl(text: string, origin: string): string | null {
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

/** Failures with their own text, by error code of the store. */
const FAILURES: Record<string, Failure> = { CONNECT_EXPIRED: 'expired', CONNECT_OTHER_WALLET: 'mismatch' };

async function readReply(keys: Keys, response: Promise<Response>): Promise<Reply> {
  let body: { appPk?: string; authInfo?: string } & Problem;
  try {
    body = await (await response).json();
  } catch {
    return { name: 'failed', reason: 'network' };
  }
  if (!body.appPk || !body.authInfo) return failure(body);
  const envelope = await keys.verifyEnvelope(body.appPk, body.authInfo);
  if (!envelope) return { name: 'failed', reason: 'signature' };
  if (envelope.status === 'error') {
    const { errorMessage, errorCode, errorParams } = envelope;
    return failure({ error: errorMessage, code: errorCode, params: errorParams });
  }
  if (envelope.requestedClaims?.length) return { name: 'request', envelope, claims: envelope.requestedClaims };
  return { name: 'done', message: envelope.successMessage };
}

async function failure(problem: Problem): Promise<Reply> {
  const reason = FAILURES[problem.code ?? ''];
  if (reason) return { name: 'failed', reason };
  await loadErrorMessages();
  return { name: 'failed', reason: 'problem', problem };
}

/** Fetches the request; the store then knows that a wallet has connected. */
export function fetchRequest(keys: Keys, address: string, account: Account | null): Promise<Reply> {
  const url = new URL(address);
  if (account) {
    url.searchParams.set('userDid', account.address);
    url.searchParams.set('userPk', account.publicKey);
  }
  return readReply(keys, fetch(url, { credentials: 'omit' }));
}

async function send(keys: Keys, address: string, account: Account, payload: object): Promise<Reply> {
  const userInfo = await keys.signPayload(account, payload);
  const response = fetch(address, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ userPk: account.publicKey, userInfo }),
    credentials: 'omit',
  });
  return readReply(keys, response);
}

export async function accept(keys: Keys, envelope: Envelope, address: string, account: Account): Promise<Reply> {
  const requestedClaims = [];
  for (const claim of envelope.requestedClaims ?? []) requestedClaims.push(await keys.completeClaim(account, claim));
  return send(keys, address, account, { action: 'responseAuth', challenge: envelope.challenge, requestedClaims });
}

export const decline = (keys: Keys, envelope: Envelope, address: string, account: Account): Promise<Reply> =>
  send(keys, address, account, { action: 'declineAuth', challenge: envelope.challenge, requestedClaims: [] });
