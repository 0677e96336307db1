/** The one origin that may hear us: named in the address, else the page that embeds us. */
export function listenerOrigin(query: URLSearchParams, referrer: string): string | null {
  const named = query.get('origin');
  for (const candidate of named === null ? [referrer] : [named]) {
    try {
      const { origin, protocol } = new URL(candidate);
      if (protocol === 'https:' || protocol === 'http:') return origin;
    } catch {
      // Not an address: nobody listens there.
    }
  }
  return null;
}

/** Is this page shown inside another one? */
export const framed = window.parent !== window;

/** Tells the page around this one (postMessage), and nobody else. */
export function tellHost(type: string, detail: Record<string, string | number>): void {
  if (!framed) return;
  const origin = listenerOrigin(new URLSearchParams(window.location.search), document.referrer);
  if (origin) window.parent.postMessage({ source: 'souk-checkout', type, ...detail }, origin);
}

/** Tells the page itself (CustomEvent) and the page that embeds it what happened: `error.{code}`, `completed`. */
export function broadcast(type: string, detail: Record<string, string>): void {
  window.dispatchEvent(new CustomEvent(type, { detail }));
  tellHost(type, detail);
}
