/** The only origin that receives our messages: the `origin` parameter, else the embedding page. */
export function listenerOrigin(query: URLSearchParams, referrer: string): string | null {
  const requested = query.get('origin');
  for (const candidate of requested === null ? [referrer] : [requested]) {
    try {
      const { origin, protocol } = new URL(candidate);
      if (protocol === 'https:' || protocol === 'http:') return origin;
    } catch {
      // Not a URL: no origin.
    }
  }
  return null;
}

/** Whether this page is inside an iframe. */
export const isFramed = window.parent !== window;

/** Posts a message to the embedding page only. */
export function postToHost(type: string, detail: Record<string, string | number>): void {
  if (!isFramed) return;
  const origin = listenerOrigin(new URLSearchParams(window.location.search), document.referrer);
  if (origin) window.parent.postMessage({ source: 'souk-checkout', type, ...detail }, origin);
}

/** Dispatches a CustomEvent (`error.{code}`, `completed`) and posts it to the embedding page. */
export function broadcast(type: string, detail: Record<string, string>): void {
  window.dispatchEvent(new CustomEvent(type, { detail }));
  postToHost(type, detail);
}
