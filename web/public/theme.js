// Sets theme, language and mode on <html> before the first paint; an own file, so that the page's policy can forbid inline scripts.
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
