import { defineConfig, devices } from '@playwright/test';

/**
 * Browser tests. `desktop` and `phone` bring their own answers (`e2e/fixtures`) and need the built pages only, which
 * `vite preview` serves unless `SOUK_URL` names a running server. `server` needs one that was started with `--demo`.
 *
 * A normal run takes each screen once on a desktop (English, light) and once on a phone (Chinese, dark), and each flow
 * once: on a desktop, or on a phone too where its title names what differs there. `MATRIX=all` takes everything on both.
 */
const all = process.env.MATRIX === 'all';
/** Screens in the look of the phone. */
const PHONE_LOOK = /\bin zh, dark\b/;
/** Flows whose subject is the width, the touch or the keyboard of a phone. */
const PHONE_FLOW = /\bon a phone\b|\btelephone|\bsideways\b|\b44 px\b|\bsticks\b/;
const server = process.env.SOUK_URL;
const preview = 'http://127.0.0.1:4173';
const launchOptions = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
};

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'test-results',
  workers: 2,
  timeout: 30_000,
  // Whole failures stand at the end of it, where a cut record still shows them.
  reporter: process.stdout.isTTY ? 'list' : 'dot',
  use: { baseURL: server ?? preview, launchOptions, trace: 'retain-on-failure' },
  projects: [
    {
      name: 'desktop',
      testIgnore: 'server/**',
      ...(all ? {} : { grepInvert: PHONE_LOOK }),
      use: { viewport: { width: 1280, height: 800 }, launchOptions },
    },
    {
      name: 'phone',
      testIgnore: 'server/**',
      ...(all ? {} : { grep: [PHONE_LOOK, PHONE_FLOW] }),
      use: { ...devices['Pixel 7'], viewport: { width: 390, height: 844 }, launchOptions },
    },
    // Takes the store's one-time link, so that what only an owner can do can be done by every test.
    {
      name: 'owner',
      testMatch: 'server/owner.setup.ts',
      use: { viewport: { width: 1280, height: 800 }, launchOptions },
    },
    // The same pages against a real server, none of whose answers are made up.
    {
      name: 'server',
      dependencies: ['owner'],
      testMatch: 'server/**/*.spec.ts',
      use: { viewport: { width: 1280, height: 800 }, launchOptions },
    },
  ],
  ...(server
    ? {}
    : { webServer: { command: 'npx vite preview --port 4173 --strictPort', url: preview, reuseExistingServer: true } }),
});
