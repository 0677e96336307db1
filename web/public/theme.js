// Loads the scripts of the page (first-load.mjs) after the first paint of the prerendered content. It loads them at
// once if there is none or if paint cannot be observed, and after a second at the latest. Loading twice is harmless:
// the template is then empty.
addEventListener('DOMContentLoaded', () => {
  const loadScripts = () => document.head.append(document.getElementById('scripts')?.content ?? '');
  const isPrerendered = document.getElementById('root')?.textContent.trim();
  const canObservePaint = window.PerformanceObserver?.supportedEntryTypes?.includes('paint');
  if (!isPrerendered || !canObservePaint || document.hidden || window.parent !== window) return loadScripts();
  new PerformanceObserver(loadScripts).observe({ type: 'paint', buffered: true });
  addEventListener('visibilitychange', loadScripts, { once: true });
  setTimeout(loadScripts, 1000);
});

// Sets theme, language and mode on <html> before the first paint. A separate file, so that the CSP can forbid inline
// scripts.
(() => {
  const root = document.documentElement;
  let theme = null;
  let live = null;
  try {
    theme = localStorage.getItem('theme');
    live = localStorage.getItem('livemode');
  } catch {
    // Storage can be blocked in an iframe; the system's scheme is used then.
  }
  if (theme !== 'light' && theme !== 'dark') {
    theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  }
  root.dataset.theme = theme;
  if (live === 'true') root.dataset.live = '';
  // A new browser starts a demo store in test mode.
  const store = document.getElementById('store');
  if (live === 'false' || (live !== 'true' && store && JSON.parse(store.textContent).demo)) root.dataset.mode = 'test';
  const parameter = new URLSearchParams(location.search).get('locale');
  const cookie = /(?:^|; )nf_lang=(en|zh)/.exec(document.cookie);
  const language = parameter || cookie?.[1] || navigator.language || 'en';
  root.lang = /^zh/i.test(language) ? 'zh' : 'en';
})();
