import { ApiError } from '@/api/error';
import { type Problem, problemOf } from '@/i18n/translate';

/** The poll interval, and the time in which a code must be scanned. */
export const POLL_MS = 2000;
export const SCAN_TIMEOUT_MS = 300_000;

export interface TokenResponse {
  token: string;
  /** The deep link, encoded in the QR code. */
  url: string;
}

export interface StatusResponse {
  status: 'created' | 'scanned' | 'succeed' | 'error' | 'busy' | 'timeout' | 'forbidden';
  /** The error message, its code and its values. */
  error?: string;
  code?: string;
  params?: Record<string, string>;
  did?: string;
  mfaCode?: number;
  /** 0: the wallet identifies itself; 1: it confirms the request. */
  currentStep?: number;
}

/** The API calls of a connection. */
export interface ConnectCalls {
  token: () => Promise<TokenResponse>;
  status: (token: string) => Promise<StatusResponse>;
  timeout: (token: string) => Promise<unknown>;
}

export type ConnectState =
  | { name: 'loading' }
  | { name: 'created' | 'scanned'; link: string; mfaCode?: number; step?: number }
  | { name: 'succeed'; did?: string }
  | { name: 'error'; problem: Problem }
  | { name: 'busy' | 'timeout' | 'forbidden' | 'network' };

/** The URL that the wallet requests; it is encoded twice in the deep link. */
export function authUrl(link: string): string {
  const once = new URL(link).searchParams.get('url') ?? '';
  return decodeURIComponent(once);
}

/** A rejected status request ends the connection; a network error does not. */
function rejectedState(error: unknown): ConnectState | null {
  if (!(error instanceof ApiError)) return null;
  if (error.status === 403) return { name: 'forbidden' };
  if (error.status === 400 || error.status === 404) return { name: 'timeout' };
  return null;
}

/**
 * Runs one connection and reports each state. It does not poll while the page is hidden. `stop` releases an unused
 * token unless its request was settled elsewhere.
 */
export function connect(
  calls: ConnectCalls,
  report: (state: ConnectState) => void,
): { stop: (isSettled?: boolean) => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let token: string | undefined;
  let link = '';
  let unused = false;
  let ended = false;
  let isPolling = false;
  let startedAt = 0;

  const end = (state: ConnectState) => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisible);
    report(state);
  };

  const poll = async () => {
    if (ended || isPolling || !token) return;
    clearTimeout(timer);
    if (!document.hidden) {
      isPolling = true;
      const response = await calls.status(token).catch((error: unknown) => rejectedState(error));
      isPolling = false;
      if (ended) return;
      if (response) apply(response);
    }
    if (ended) return;
    if (unused && Date.now() - startedAt >= SCAN_TIMEOUT_MS) {
      releaseToken();
      end({ name: 'timeout' });
      return;
    }
    timer = setTimeout(poll, POLL_MS);
  };

  const apply = (response: StatusResponse | ConnectState) => {
    if ('name' in response) {
      unused = false;
      end(response);
      return;
    }
    unused = response.status === 'created';
    if (response.status === 'created' || response.status === 'scanned') {
      report({
        name: response.status,
        link,
        mfaCode: response.mfaCode || undefined,
        step: response.currentStep || undefined,
      });
    } else if (response.status === 'succeed') end({ name: 'succeed', did: response.did });
    else if (response.status === 'error') end({ name: 'error', problem: response });
    else end({ name: response.status });
  };

  const releaseToken = () => {
    if (token && unused) calls.timeout(token).catch(() => undefined);
    unused = false;
  };

  const onVisible = () => {
    if (!document.hidden) poll();
  };

  report({ name: 'loading' });
  calls.token().then(
    (response) => {
      token = response.token;
      unused = true;
      if (ended) {
        releaseToken();
        return;
      }
      link = response.url;
      startedAt = Date.now();
      report({ name: 'created', link });
      document.addEventListener('visibilitychange', onVisible);
      timer = setTimeout(poll, POLL_MS);
    },
    (error: unknown) => {
      if (ended) return;
      if (!(error instanceof ApiError)) return end({ name: 'network' });
      end({ name: 'error', problem: problemOf(error) });
    },
  );

  return {
    stop: (isSettled = false) => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
      if (!isSettled) releaseToken();
    },
  };
}
