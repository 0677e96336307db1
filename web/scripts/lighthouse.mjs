// Runs Lighthouse (mobile) five times for each page and prints the medians and targets.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const base = process.argv[2];
const runs = Number(process.env.RUNS ?? 5);
const apps = await (await fetch(`${base}/api/apps?livemode=false&price=paid&pageSize=1`)).json();
const pages = { store: `${base}/`, checkout: `${base}/checkout/pay/${apps.list[0].payment_link_id}` };
const targets = { performance: 0.95, accessibility: 1, lcp_s: 1.8, tbt_ms: 150, cls: 0.05 };
const flags =
  '--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync';
const report = join(tmpdir(), `souk-lighthouse-${process.pid}.json`);

function measure(url) {
  const args = ['--yes', 'lighthouse@12.8.2', url, '--quiet', '--output=json', `--output-path=${report}`];
  execFileSync('npx', [...args, '--only-categories=performance,accessibility', `--chrome-flags=${flags}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { categories, audits } = JSON.parse(readFileSync(report, 'utf8'));
  return {
    performance: categories.performance.score,
    accessibility: categories.accessibility.score,
    lcp_s: audits['largest-contentful-paint'].numericValue / 1000,
    tbt_ms: audits['total-blocking-time'].numericValue,
    cls: audits['cumulative-layout-shift'].numericValue,
  };
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
let missed = 0;
for (const [name, url] of Object.entries(pages)) {
  const results = Array.from({ length: runs }, () => measure(url));
  for (const [metric, target] of Object.entries(targets)) {
    const value = median(results.map((result) => result[metric]));
    const met = metric === 'performance' || metric === 'accessibility' ? value >= target : value <= target;
    missed += met ? 0 : 1;
    console.log(
      `${name.padEnd(9)} ${metric.padEnd(14)} ${value.toFixed(3).padStart(9)}  target ${target}  ${met ? 'ok' : 'MISSED'}`,
    );
  }
}
rmSync(report, { force: true });
process.exit(missed ? 1 : 0);
