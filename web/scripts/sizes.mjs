// Measures the gzip size of each entry's first load and fails if it exceeds its budget.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const dist = new URL('../dist/', import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8'));

/**
 * kB (1000 bytes, gzip) of the scripts and styles that load before the page is rendered. Those of `checkout` render
 * payments and subscriptions; only custom amounts and cross-sells wait for another chunk (`lazy-modules.ts`).
 */
const BUDGETS = {
  checkout: { entries: ['checkout.html'], js: 105, css: 15 },
  store: { entries: ['index.html'], js: 150, css: 15 },
};

/** The chunk of an entry and its static imports. */
function firstLoad(key, seen = new Set()) {
  if (seen.has(key)) return seen;
  seen.add(key);
  for (const next of manifest[key]?.imports ?? []) firstLoad(next, seen);
  return seen;
}

const gzipSize = (file) => statSync(join(dist, `${file}.gz`)).size;
const kilobytes = (bytes) => Math.round(bytes / 100) / 10;

const sizes = {};
let exceeded = false;
for (const [name, budget] of Object.entries(BUDGETS)) {
  // The small entries import the rest of their page at once (first-load.mjs).
  const roots = budget.entries.flatMap((entry) => [entry, ...(manifest[entry].dynamicImports ?? [])]);
  const keys = new Set(roots.flatMap((root) => [...firstLoad(root)]));
  const scripts = new Set([...keys].map((key) => manifest[key].file).filter((file) => file.endsWith('.js')));
  const styles = new Set([...keys].flatMap((key) => manifest[key].css ?? []));
  const js = [...scripts].reduce((sum, file) => sum + gzipSize(file), 0);
  const css = [...styles].reduce((sum, file) => sum + gzipSize(file), 0);
  sizes[name] = { js_gzip: js, js_budget: budget.js * 1000, css_gzip: css, css_budget: budget.css * 1000 };
  const over = js > budget.js * 1000 || css > budget.css * 1000;
  exceeded ||= over;
  console.log(
    `${name.padEnd(9)} js ${kilobytes(js)} kB of ${budget.js}, css ${kilobytes(css)} kB of ${budget.css}${over ? '  EXCEEDED' : ''}`,
  );
}
writeFileSync(join(dist, 'sizes.json'), `${JSON.stringify(sizes, null, 2)}\n`);
if (exceeded) {
  console.error('A first load exceeds its budget: split what is not needed at once into a chunk of its own.');
  process.exit(1);
}
