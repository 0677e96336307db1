// Opens the template of scripts (first-load.mjs) when what the server wrote has been painted. Where it wrote nothing, or nobody will
// tell of its paint, that is at once, and after a second whatever happens; opened twice, it is empty the second time.
addEventListener('DOMContentLoaded', () => {
  const open = () => document.head.append(document.getElementById('scripts')?.content ?? '');
  const isWritten = document.getElementById('root')?.textContent.trim();
  const tells = window.PerformanceObserver?.supportedEntryTypes?.includes('paint');
  if (!isWritten || !tells || document.hidden || window.parent !== window) return open();
  new PerformanceObserver(open).observe({ type: 'paint', buffered: true });
  addEventListener('visibilitychange', open, { once: true });
  setTimeout(open, 1000);
});

// Before the first paint: sets theme, language and mode on <html>. An own file, so that the page's policy can forbid inline scripts.
(() => {
  const root = document.documentElement;
  let theme = null;
  let live = null;
  try {
    theme = localStorage.getItem('theme');
    live = localStorage.getItem('livemode');
  } catch {
    // Storage can be closed to a frame; the system's scheme then decides.
  }
  if (theme !== 'light' && theme !== 'dark') {
    theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  }
  root.dataset.theme = theme;
  if (live === 'true') root.dataset.live = '';
  // A fresh browser in a demo store begins in test mode.
  const store = document.getElementById('store');
  if (live === 'false' || (live !== 'true' && store && JSON.parse(store.textContent).demo)) root.dataset.mode = 'test';
  const asked = new URLSearchParams(location.search).get('locale');
  const kept = /(?:^|; )nf_lang=(en|zh)/.exec(document.cookie);
  const wanted = asked || kept?.[1] || navigator.language || 'en';
  root.lang = /^zh/i.test(wanted) ? 'zh' : 'en';
})();
