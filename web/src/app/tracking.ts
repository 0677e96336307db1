import { callAddress, fetchStore } from '@/api/client';
import { locale } from '@/lib/locale';

let referrer = document.referrer;

/** Tells the analytics path of the store which page is seen; paths only, no parameters. */
export function pageView(path: string): void {
  const body = JSON.stringify({ path, referrer, locale: locale() });
  referrer = window.location.href;
  const address = callAddress('/.well-known/service/analytics/pageview');
  const sent = navigator.sendBeacon?.(address, new Blob([body], { type: 'application/json' }));
  if (!sent)
    void fetch(address, {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json' },
      keepalive: true,
    }).catch(() => undefined);
}

let reported = 0;
/** A page that fails in a loop must not become a flood. */
const MOST_REPORTS = 10;

/** Errors go where the store says, at its sample rate; nowhere when it says nothing. */
export async function report(error: unknown): Promise<void> {
  const { url: address, sample_rate: rate } = (await fetchStore()).errors;
  if (!address || reported >= MOST_REPORTS || Math.random() >= rate) return;
  reported += 1;
  const { message = String(error), stack = '' } = (error ?? {}) as Error;
  const body = JSON.stringify({ message, stack, path: window.location.pathname });
  void fetch(address, { method: 'POST', body, headers: { 'Content-Type': 'application/json' }, keepalive: true }).catch(
    () => undefined,
  );
}

/** Loads the store's analytics script where one is configured, and reports what nobody caught. */
export async function startTracking(): Promise<void> {
  const said = (error: unknown) => void report(error).catch(() => undefined);
  window.addEventListener('error', (event) => said(event.error ?? event.message));
  window.addEventListener('unhandledrejection', (event) => said(event.reason));
  const { analytics } = await fetchStore();
  if (analytics.script) {
    const script = document.createElement('script');
    script.src = analytics.script;
    script.async = true;
    document.head.append(script);
  }
}
