import { ApiError, errorText } from '@/api/error';
import type { Problem } from '@/i18n/translate';

/** DID Connect polls this often and gives a code this long to be scanned. */
export const POLL_MS = 2000;
export const PATIENCE_MS = 300_000;

export interface TokenAnswer {
  token: string;
  /** The deep link: what the QR code says. */
  url: string;
}

export interface StatusAnswer {
  status: 'created' | 'scanned' | 'succeed' | 'error' | 'busy' | 'timeout' | 'forbidden';
  /** Why it failed, with its code and what differs from case to case. */
  error?: string;
  code?: string;
  params?: Record<string, string>;
  did?: string;
  mfaCode?: number;
  /** 0: who it is; 1: what it is asked for. */
  currentStep?: number;
}

/** The three calls that a browser makes for a connection. */
export interface ConnectCalls {
  token: () => Promise<TokenAnswer>;
  status: (token: string) => Promise<StatusAnswer>;
  timeout: (token: string) => Promise<unknown>;
}

export type ConnectState =
  | { name: 'loading' }
  | { name: 'created' | 'scanned'; link: string; mfaCode?: number; step?: number }
  | { name: 'succeed'; did?: string }
  | { name: 'error'; problem: Problem }
  | { name: 'busy' | 'timeout' | 'forbidden' | 'network' };

/** The address the wallet talks to: it is encoded twice inside the deep link. */
export function authUrl(link: string): string {
  const once = new URL(link).searchParams.get('url') ?? '';
  return decodeURIComponent(once);
}

/** A refused status call ends the connection; one that got no answer does not. */
function refusal(error: unknown): ConnectState | null {
  if (!(error instanceof ApiError)) return null;
  if (error.status === 403) return { name: 'forbidden' };
  if (error.status === 400 || error.status === 404) return { name: 'timeout' };
  return null;
}

/**
 * Runs one connection from its token to its end and reports each state. Polling rests while the page is hidden.
 * `stop` gives an unused token back.
 */
export function connect(calls: ConnectCalls, report: (state: ConnectState) => void): { stop: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let token: string | undefined;
  let link = '';
  let unused = false;
  let over = false;
  let asking = false;
  let began = 0;

  const end = (state: ConnectState) => {
    over = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisible);
    report(state);
  };

  const poll = async () => {
    if (over || asking || !token) return;
    clearTimeout(timer);
    if (!document.hidden) {
      asking = true;
      const answer = await calls.status(token).catch((error: unknown) => refusal(error));
      asking = false;
      if (over) return;
      if (answer) apply(answer);
    }
    if (over) return;
    if (unused && Date.now() - began >= PATIENCE_MS) {
      giveBack();
      end({ name: 'timeout' });
      return;
    }
    timer = setTimeout(poll, POLL_MS);
  };

  const apply = (answer: StatusAnswer | ConnectState) => {
    if ('name' in answer) {
      unused = false;
      end(answer);
      return;
    }
    unused = answer.status === 'created';
    if (answer.status === 'created' || answer.status === 'scanned') {
      report({
        name: answer.status,
        link,
        mfaCode: answer.mfaCode || undefined,
        step: answer.currentStep || undefined,
      });
    } else if (answer.status === 'succeed') end({ name: 'succeed', did: answer.did });
    else if (answer.status === 'error') end({ name: 'error', problem: answer });
    else end({ name: answer.status });
  };

  const giveBack = () => {
    if (token && unused) calls.timeout(token).catch(() => undefined);
    unused = false;
  };

  const onVisible = () => {
    if (!document.hidden) poll();
  };

  report({ name: 'loading' });
  calls.token().then(
    (answer) => {
      token = answer.token;
      unused = true;
      if (over) {
        giveBack();
        return;
      }
      link = answer.url;
      began = Date.now();
      report({ name: 'created', link });
      document.addEventListener('visibilitychange', onVisible);
      timer = setTimeout(poll, POLL_MS);
    },
    (error: unknown) => {
      if (over) return;
      if (!(error instanceof ApiError)) return end({ name: 'network' });
      const { code, params } = error;
      end({ name: 'error', problem: { error: errorText(error), code, params } });
    },
  );

  return {
    stop: () => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
      giveBack();
    },
  };
}
