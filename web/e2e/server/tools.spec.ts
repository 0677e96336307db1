import { readFile } from 'node:fs/promises';
import { expect, test } from '@playwright/test';
import { applyDisplaySettings } from '../fixtures/display-settings';
import { Owner } from './owner';
import { translatorFor } from './translate';
import { approveInWallet, requireServer } from './wallet';

test('a tool that waits reads the keys that the page has created and saved', async ({ page, playwright }) => {
  requireServer();
  const translate = translatorFor('en');
  await applyDisplaySettings(page);
  // Tools have no cookies.
  const tool = await playwright.request.newContext({ baseURL: process.env.SOUK_URL });
  const begun = await (await tool.get('/api/did/gen-key-pair/token?monikers=atlas&source=Blocklet%20CLI')).json();
  const status = async () => (await tool.get(`/api/did/gen-key-pair/status?_t_=${begun.token}`)).json();
  expect(await status()).toEqual({ token: begun.token, status: 'created' });

  await page.goto(`/gen-key-pair?__connect_url__=${Buffer.from(begun.url).toString('base64url')}`);
  await approveInWallet(page, translate);
  await expect(page.getByText('Blocklet CLI')).toBeVisible();
  expect(await status()).toEqual({ token: begun.token, status: 'scanned' });
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: translate('publish:tool.keysCreate') }).click(),
  ]);
  const [saved] = JSON.parse(await readFile(await download.path(), 'utf8'));
  await page.getByRole('button', { name: translate('publish:tool.approve') }).click();
  await expect(page.getByRole('heading', { level: 1, name: translate('publish:tool.approved') })).toBeVisible();
  const config = [{ address: saved.did, publicKey: saved.publicKey }];
  expect(await status()).toEqual({ token: begun.token, status: 'succeed', config });
  await tool.dispose();
});

/** An X25519 public key. */
const KEY = 'E75P6uryBMf9M1j8nAByGIHRdCeBKCJ-xnTzf3_pe20';

test('a developer approves the command line and the studio, and both read a sealed answer', async ({
  page,
  browser,
  playwright,
}) => {
  requireServer();
  test.setTimeout(60_000);
  const translate = translatorFor('en');
  await applyDisplaySettings(page);
  const owner = await Owner.of(browser);
  const invitation = { role: 'developer', lifetime_days: 1 };
  const { link } = await owner.post<{ link: string }>('/api/console/invitations', invitation);
  await owner.context.close();
  await page.goto(link);
  await approveInWallet(page, translate);
  await page.getByRole('button', { name: translate('portal:invitation.action') }).click();
  await expect(page.getByRole('link', { name: translate('portal:invitation.toTokens') })).toBeVisible();

  const tool = await playwright.request.newContext({ baseURL: process.env.SOUK_URL });
  for (const [action, apps] of [
    ['connect-cli', ''],
    ['connect-studio', '&monikers=atlas'],
  ] as const) {
    const begun = await (await tool.get(`/api/did/${action}/token?_ek_=${KEY}&source=${action}${apps}`)).json();
    await page.goto(`/${action}?__connect_url__=${Buffer.from(begun.url).toString('base64url')}`);
    await expect(page.getByText('2EZ4-ZTQA')).toBeVisible();
    if (apps)
      await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: translate('publish:tool.keysCreate') }).click(),
      ]);
    await page.getByRole('button', { name: translate('publish:tool.approve') }).click();
    await expect(page.getByRole('heading', { level: 1, name: translate('publish:tool.approved') })).toBeVisible();
    const answer = await (await tool.get(`/api/did/${action}/status?_t_=${begun.token}`)).json();
    expect(answer).toEqual({
      token: begun.token,
      status: 'succeed',
      config: expect.stringMatching(/^[A-Za-z0-9+/]+=*$/),
    });
  }
  await tool.dispose();
  await page.goto('/developer/access-tokens');
  for (const name of ['connect-cli', 'connect-studio']) await expect(page.getByRole('table')).toContainText(name);
});
