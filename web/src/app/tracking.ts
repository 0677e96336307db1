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

function report(address: string, rate: number, error: unknown): void {
  if (reported >= MOST_REPORTS || Math.random() >= rate) return;
  reported += 1;
  const { message = String(error), stack = '' } = (error ?? {}) as Error;
  const body = JSON.stringify({ message, stack, path: window.location.pathname });
  void fetch(address, { method: 'POST', body, headers: { 'Content-Type': 'application/json' }, keepalive: true }).catch(
    () => undefined,
  );
}

/** Loads the store's analytics script and reports errors at the configured sample rate; both only where configured. */
export async function startTracking(): Promise<void> {
  const { analytics, errors } = await fetchStore();
  if (analytics.script) {
    const script = document.createElement('script');
    script.src = analytics.script;
    script.async = true;
    document.head.append(script);
  }
  const { url, sample_rate: rate } = errors;
  if (url && rate > 0) {
    window.addEventListener('error', (event) => report(url, rate, event.error ?? event.message));
    window.addEventListener('unhandledrejection', (event) => report(url, rate, event.reason));
  }
}
