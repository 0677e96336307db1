import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const THEME = new URL('../public/theme.js', import.meta.url);
const SCRIPT = /\s*<(?:script type="module"[^>]*><\/script>|link rel="modulepreload"[^>]*>)/g;

/**
 * The entries are small and import the rest of their page dynamically. This plugin adds preload links for that code,
 * which saves a round trip. The scripts are in a template that theme.js activates after the first paint, because
 * fetching and compiling them would delay it.
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
        const scripts = missing
          .filter((file) => !file.endsWith('.css'))
          .map((file) => `\n      <link rel="modulepreload" crossorigin href="/${file}">`);
        const scriptTags = [...(html.match(SCRIPT) ?? []).map((tag) => `\n      ${tag.trim()}`), ...scripts].join('');
        const template = `  <template id="scripts">${scriptTags}\n    </template>\n  </body>`;
        // The hash avoids a cached theme.js of an earlier build, which may not activate the template.
        const theme = createHash('sha256').update(readFileSync(THEME)).digest('hex').slice(0, 8);
        const page = html.replace('"/theme.js"', `"/theme.js?v=${theme}"`);
        if (page === html) throw new Error('no theme.js in the page: nothing would activate its template');
        return {
          html: page.replace(SCRIPT, '').replace('</body>', () => template),
          tags: missing
            .filter((file) => file.endsWith('.css'))
            .map((file) => ({
              tag: 'link',
              attrs: { rel: 'stylesheet', crossorigin: true, href: `/${file}` },
              injectTo: 'head',
            })),
        };
      },
    },
  };
}
