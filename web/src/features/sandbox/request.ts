import { loadErrorMessages, type Problem } from '@/i18n/translate';
import type { Account, Claim, Envelope } from './wire';

type Keys = typeof import('./keys');

export type Failure = 'network' | 'signature' | 'expired' | 'mismatch';

/** How a call to the store ended: it asks (more), it is done, or it failed. */
export type Reply =
  | { name: 'asks'; envelope: Envelope; claims: Claim[] }
  | { name: 'done'; message?: string }
  | { name: 'failed'; why: Failure }
  | { name: 'failed'; why: 'problem'; problem: Problem };

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

/** Errors that the wallet has a text of its own for, by the store's codes. */
const FAILURES: Record<string, Failure> = { CONNECT_EXPIRED: 'expired', CONNECT_OTHER_WALLET: 'mismatch' };

async function replyOf(keys: Keys, answer: Promise<Response>): Promise<Reply> {
  let body: { appPk?: string; authInfo?: string } & Problem;
  try {
    body = await (await answer).json();
  } catch {
    return { name: 'failed', why: 'network' };
  }
  if (!body.appPk || !body.authInfo) return failure(body);
  const envelope = await keys.openEnvelope(body.appPk, body.authInfo);
  if (!envelope) return { name: 'failed', why: 'signature' };
  if (envelope.status === 'error') {
    const { errorMessage, errorCode, errorParams } = envelope;
    return failure({ error: errorMessage, code: errorCode, params: errorParams });
  }
  if (envelope.requestedClaims?.length) return { name: 'asks', envelope, claims: envelope.requestedClaims };
  return { name: 'done', message: envelope.successMessage };
}

async function failure(problem: Problem): Promise<Reply> {
  const why = FAILURES[problem.code ?? ''];
  if (why) return { name: 'failed', why };
  await loadErrorMessages();
  return { name: 'failed', why: 'problem', problem };
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
