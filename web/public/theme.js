// Sets theme and language on <html> before the first paint; an own file, so that the page's policy can forbid inline scripts.
(() => {
  const root = document.documentElement;
  let theme = null;
  try {
    theme = localStorage.getItem('theme');
  } catch {
    // Storage can be closed to a frame; the system's scheme then decides.
  }
  if (theme !== 'light' && theme !== 'dark') {
    theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  }
  root.dataset.theme = theme;
  const asked = new URLSearchParams(location.search).get('locale');
  const kept = /(?:^|; )nf_lang=(en|zh)/.exec(document.cookie);
  const wanted = asked || kept?.[1] || navigator.language || 'en';
  root.lang = /^zh/i.test(wanted) ? 'zh' : 'en';
})();
