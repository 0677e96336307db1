import { defineConfig, devices } from '@playwright/test';

/**
 * Browser tests. `SOUK_URL` names a running server; without it the built pages are served by `vite preview`
 * and only the tests that bring their own answers (`e2e/fixtures`) are run.
 */
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
  reporter: process.env.CI ? 'line' : 'list',
  use: { baseURL: server ?? preview, launchOptions, trace: 'retain-on-failure' },
  projects: [
    { name: 'desktop', use: { viewport: { width: 1280, height: 800 }, launchOptions } },
    { name: 'phone', use: { ...devices['Pixel 7'], viewport: { width: 390, height: 844 }, launchOptions } },
  ],
  ...(server
    ? {}
    : { webServer: { command: 'npx vite preview --port 4173 --strictPort', url: preview, reuseExistingServer: true } }),
});
