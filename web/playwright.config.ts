import { defineConfig, devices, type PlaywrightTestConfig } from '@playwright/test';

/**
 * Browser tests. `desktop` and `phone` mock the API (`e2e/fixtures`) and need only the built pages, which `vite
 * preview` serves unless `SOUK_URL` names a running server. `server` needs a server started with `--demo`. By default
 * each screen runs on a desktop (English, light) and on a phone (Chinese, dark), and each flow on a desktop, or on a
 * phone too if its title says so. `MATRIX=all` runs everything on both, and `TRACE=on` keeps traces of failed tests.
 */
const all = process.env.MATRIX === 'all';
/** Screens with the display settings of the phone. */
const PHONE_SCREEN = /\bin zh, dark\b/;
/** Flows about the width, touch input or keyboard of a phone. */
const PHONE_FLOW = /\bon a phone\b|\bon-screen keyboard\b|\bhorizontal scroll|\b44 px\b|\bsticky bar\b/;
/** Tests that mock the API. The pattern does not depend on the folder of the repository, which globs like `server/**` also match. */
const MOCKED = /\/e2e\/[^/]+\.spec\.ts$/;
const server = process.env.SOUK_URL;
/**
 * `gas`: the server's ledger charges gas. `off`: the server's sandbox is on at first, and then switched off.
 * `publishing`: apps are published and sold, and then the server's clock is a day ahead.
 */
const network = process.env.NETWORK;
const preview = 'http://127.0.0.1:4173';
/** Projects that depend on others start after all that do not. With this, tests that mock the API run beside those of the server. */
const mockedAfter = server ? ['owner'] : [];
const launchOptions = {
  // Starts and draws in two thirds of the time of the whole browser.
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    // A test is over before the compilers of hot code pay off.
    '--js-flags=--no-turbofan --no-maglev',
  ],
};

/** Claims the store with its one-time link, so that tests can act as its owner. */
const OWNER = {
  name: 'owner',
  testDir: 'e2e/server',
  testMatch: 'owner.setup.ts',
  use: { viewport: { width: 1280, height: 800 }, launchOptions },
};

/** A store whose network charges gas, in its own server because it stakes for gas once. */
const GAS = [
  OWNER,
  {
    name: 'gas',
    dependencies: ['owner'],
    testDir: 'e2e/gas',
    use: { viewport: { width: 1280, height: 800 }, launchOptions },
  },
];

/** A store whose sandbox is switched off between the two projects. */
const SANDBOX_OFF = [
  OWNER,
  {
    name: 'before',
    dependencies: ['owner'],
    testDir: 'e2e/sandbox-off',
    testMatch: 'purchase.setup.ts',
    use: { viewport: { width: 1280, height: 800 }, launchOptions },
  },
  {
    name: 'off',
    testDir: 'e2e/sandbox-off',
    testMatch: '*.spec.ts',
    use: { viewport: { width: 1280, height: 800 }, launchOptions },
  },
];

/** A store in which an app is published and sold, and the same store a day later. */
const PUBLISHING = [
  OWNER,
  {
    name: 'story',
    dependencies: ['owner'],
    testDir: 'e2e/publishing',
    testMatch: 'story.spec.ts',
    use: { viewport: { width: 1280, height: 800 }, launchOptions },
  },
  {
    name: 'later',
    testDir: 'e2e/publishing',
    testMatch: 'later.spec.ts',
    use: { viewport: { width: 1280, height: 800 }, launchOptions },
  },
];

const NETWORKS: Record<string, PlaywrightTestConfig['projects']> = {
  gas: GAS,
  off: SANDBOX_OFF,
  publishing: PUBLISHING,
};

export default defineConfig({
  testDir: 'e2e',
  // Runs at different networks take place at the same time.
  outputDir: `test-results/${network ?? 'free'}`,
  // The browsers wait half of the time, so that two cores serve four of them.
  workers: 4,
  timeout: 30_000,
  // A busy machine takes longer than the five seconds that are the default.
  expect: { timeout: 10_000 },
  // The dot reporter prints full failures at the end, where truncated logs still have them.
  reporter: process.stdout.isTTY ? 'list' : 'dot',
  use: { baseURL: server ?? preview, launchOptions, trace: process.env.TRACE ? 'retain-on-failure' : 'off' },
  projects: NETWORKS[network ?? ''] ?? [
    OWNER,
    // The same pages against a real server, without mocks.
    {
      name: 'server',
      dependencies: ['owner'],
      testDir: 'e2e/server',
      testMatch: '*.spec.ts',
      // They wait for networks and emails, so that they run from the start, beside tests that do not wait.
      workers: 2,
      use: { viewport: { width: 1280, height: 800 }, launchOptions },
    },
    {
      name: 'desktop',
      dependencies: mockedAfter,
      testMatch: MOCKED,
      // Otherwise one worker would run the longest file alone at the end.
      fullyParallel: true,
      ...(all ? {} : { grepInvert: PHONE_SCREEN }),
      use: { viewport: { width: 1280, height: 800 }, launchOptions },
    },
    {
      name: 'phone',
      dependencies: mockedAfter,
      testMatch: MOCKED,
      fullyParallel: true,
      ...(all ? {} : { grep: [PHONE_SCREEN, PHONE_FLOW] }),
      // One pixel each, because the browser draws without a graphics card.
      use: {
        ...devices['Pixel 7'],
        viewport: { width: 390, height: 844 },
        deviceScaleFactor: 1,
        launchOptions,
      },
    },
  ],
  ...(server
    ? {}
    : { webServer: { command: 'npx vite preview --port 4173 --strictPort', url: preview, reuseExistingServer: true } }),
});
