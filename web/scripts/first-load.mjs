/**
 * The entries are small and import the rest of their page themselves: the page names it in its head, so that it comes at
 * once and not a round trip later.
 * @returns {import('vite').Plugin}
 */
export function firstLoad() {
  return {
    name: 'souk-first-load',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (html, { bundle = {}, chunk }) => {
        const files = new Set();
        const collect = (name) => {
          const found = bundle[name];
          if (files.has(name) || found?.type !== 'chunk') return;
          files.add(name);
          for (const style of found.viteMetadata?.importedCss ?? []) files.add(style);
          for (const next of found.imports) collect(next);
        };
        for (const name of chunk?.dynamicImports ?? []) collect(name);
        const missing = [...files].filter((file) => !html.includes(`"/${file}"`));
        const tags = missing.map((file) => ({
          tag: 'link',
          attrs: file.endsWith('.css')
            ? { rel: 'stylesheet', crossorigin: true, href: `/${file}` }
            : { rel: 'modulepreload', fetchpriority: 'low', crossorigin: true, href: `/${file}` },
          injectTo: 'head',
        }));
        // Styles go first: with them the page already shows what the server wrote into it.
        const later = (tag) => tag.replace(/ crossorigin/, ' fetchpriority="low" crossorigin');
        return { html: html.replace(/<(script type="module"|link rel="modulepreload")[^>]*>/g, later), tags };
      },
    },
  };
}
