import { apiUrl, fetchStore } from '@/api/client';
import { locale } from '@/lib/locale';

let referrer = document.referrer;

/** Sends a page view to the store's analytics endpoint: the path without parameters. */
export function pageView(path: string): void {
  const body = JSON.stringify({ path, referrer, locale: locale() });
  // Without parameters, which can contain the token of a session.
  referrer = window.location.origin + window.location.pathname;
  const url = apiUrl('/.well-known/service/analytics/pageview');
  const sent = navigator.sendBeacon?.(url, new Blob([body], { type: 'application/json' }));
  if (!sent)
    void fetch(url, {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json' },
      keepalive: true,
    }).catch(() => undefined);
}

let reported = 0;
/** Limits reports, in case a page fails in a loop. */
const MAX_REPORTS = 10;

/** Reports an error to the URL and at the sample rate configured by the store, if any. */
export async function sendErrorReport(error: unknown): Promise<void> {
  const { url, sample_rate: rate } = (await fetchStore()).errors;
  if (!url || reported >= MAX_REPORTS || Math.random() >= rate) return;
  reported += 1;
  const { message = String(error), stack = '' } = (error ?? {}) as Error;
  const body = JSON.stringify({ message, stack, path: window.location.pathname });
  void fetch(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json' }, keepalive: true }).catch(
    () => undefined,
  );
}

/** Loads the store's analytics script, if configured, and reports uncaught errors. */
export async function startTracking(): Promise<void> {
  const onError = (error: unknown) => void sendErrorReport(error).catch(() => undefined);
  window.addEventListener('error', (event) => onError(event.error ?? event.message));
  window.addEventListener('unhandledrejection', (event) => onError(event.reason));
  const { analytics } = await fetchStore();
  if (analytics.script) {
    const script = document.createElement('script');
    script.src = analytics.script;
    script.async = true;
    document.head.append(script);
  }
}
