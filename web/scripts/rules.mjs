// Checks imports across files: features do not import each other, and the pages without antd never import it
// indirectly.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { filesBelow } from './precompress.mjs';

const src = new URL('../src', import.meta.url).pathname;
const HEAVY = /^(antd|@ant-design\/|@tanstack\/react-router)/;
/**
 * Features that others may import: the wallet dialog, the card dialog, payments of overdue balances, billing for portal
 * and console, reviews for the pages of developers and the console, and joining for those pages and the profile.
 */
const SHARED_FEATURES = new Set(['connect', 'card', 'overdue', 'billing', 'reviews', 'join']);
const errors = [];

const importsOf = (file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from\s+|import\s*\(?\s*)['"]([^'"]+)['"]/g)].map((match) => match[1]);

function fileOf(from, specifier) {
  const base = specifier.startsWith('@/')
    ? join(src, specifier.slice(2))
    : specifier.startsWith('.')
      ? resolve(dirname(from), specifier)
      : null;
  if (!base) return null;
  return (
    ['', '.ts', '.tsx', '/index.ts', '/index.tsx']
      .map((end) => base + end)
      .find((path) => existsSync(path) && /\.\w+$/.test(path)) ?? null
  );
}

const featureOf = (file) => /\/features\/([^/]+)\//.exec(file)?.[1];

for (const file of filesBelow(src).filter((name) => /\.tsx?$/.test(name))) {
  for (const specifier of importsOf(file)) {
    const target = fileOf(file, specifier);
    const feature = featureOf(file);
    const other = target && featureOf(target);
    if (feature && other && feature !== other && !SHARED_FEATURES.has(other)) {
      errors.push(`${file.slice(src.length)} imports the feature ${other}: features do not import one another`);
    }
  }
}

/** Follows all static and dynamic imports of an entry without antd. */
function reach(file, path, seen) {
  if (seen.has(file)) return;
  seen.add(file);
  for (const specifier of importsOf(file)) {
    if (HEAVY.test(specifier))
      errors.push(`${[...path, file].map((step) => step.slice(src.length)).join(' > ')} loads ${specifier}`);
    const target = fileOf(file, specifier);
    if (target && /\.tsx?$/.test(target)) reach(target, [...path, file], seen);
  }
}
for (const entry of [
  'features/checkout/main.tsx',
  'features/sandbox/main.tsx',
  'features/card/dialog.tsx',
  'features/connect/index.ts',
  'features/connect/index.tsx',
  'features/overdue/use-overdue-payments.ts',
]) {
  if (existsSync(join(src, entry))) reach(join(src, entry), [], new Set());
}

if (errors.length > 0) {
  console.error(errors.join('\n'));
  process.exit(1);
}
