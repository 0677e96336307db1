// Rules that a linter of single files cannot see: features keep to themselves, and the light half never reaches antd by a detour.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { filesBelow } from './precompress.mjs';

const src = new URL('../src', import.meta.url).pathname;
const HEAVY = /^(antd|@ant-design\/|@tanstack\/react-router)/;
/** Features that others may import: the dialogs of wallet and card, and what portal and console share about billing. */
const SHARED_FEATURES = new Set(['connect', 'card', 'billing']);
const faults = [];

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
    const own = featureOf(file);
    const other = target && featureOf(target);
    if (own && other && own !== other && !SHARED_FEATURES.has(other)) {
      faults.push(`${file.slice(src.length)} imports the feature ${other}: features do not import one another`);
    }
  }
}

/** Everything a light entry can reach, lazily or not. */
function reach(file, path, seen) {
  if (seen.has(file)) return;
  seen.add(file);
  for (const specifier of importsOf(file)) {
    if (HEAVY.test(specifier))
      faults.push(`${[...path, file].map((step) => step.slice(src.length)).join(' > ')} loads ${specifier}`);
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
]) {
  if (existsSync(join(src, entry))) reach(join(src, entry), [], new Set());
}

if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
