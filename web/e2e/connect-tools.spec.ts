import { readFile } from 'node:fs/promises';
import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { NOW } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { type Recorded, type ServerOptions, serve } from './fixtures/server';
import { keysRequest, loginRequest, studioRequest, TOOL_TOKEN, toolPath } from './fixtures/tools';

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW * 1000));

const developer = { signedIn: true, role: 'developer' } as const;

async function open(page: Page, options: ServerOptions, path: string): Promise<Recorded> {
  await applyDisplaySettings(page);
  const recorded = await serve(page, options);
  await page.goto(path);
  return recorded;
}

const decisions = (recorded: Recorded) =>
  recorded.calls.filter(({ path }) => path.startsWith('/tool-sessions/') && !path.endsWith('/preview'));

for (const display of displaySettings) {
  test(`a developer sees who asks and what a tool gets, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { ...developer, tool: { request: studioRequest } });
    await page.goto(toolPath('connect-studio'));
    await expect(page.getByText('2EZ4-ZTQA')).toBeVisible();
    await expect(page.getByText('192.0.2.7')).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /Create keys and save file|创建密钥并保存文件/ }).click();
    await expect(page.getByText(/^z2q/)).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /^Approve$|^批准$/ }).click();
    await expect(page.getByRole('heading', { level: 1, name: /Request approved|请求已批准/ })).toBeVisible();
    await expectAccessible(page);
  });

  test(`an invalid session and a user without passport are told what to do, in ${display.locale}, ${display.scheme}`, async ({
    page,
  }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true });
    await page.goto('/connect-cli');
    await expect(page.getByRole('heading', { level: 1, name: /Invalid session|会话无效/ })).toBeVisible();
    await expectAccessible(page);
    await page.goto(toolPath('connect-cli'));
    await expect(page.getByRole('heading', { level: 1, name: /developer passport|开发者通行证/ })).toBeVisible();
    await expectAccessible(page);
  });
}

test('a developer approves the command line with the permissions of its token', async ({ page }) => {
  const recorded = await open(page, developer, toolPath('connect-cli'));
  await expect(page.getByText('If the tool shows a code as well, the two must be the same.')).toBeVisible();
  await page.getByRole('checkbox', { name: 'Upload new apps' }).uncheck();
  await page.getByRole('checkbox', { name: 'Withdraw versions' }).check();
  await page.getByRole('button', { name: 'Approve' }).click();
  await expect(page.getByText('You can close this window and return to the terminal.')).toBeVisible();
  expect(decisions(recorded).map(({ path, body }) => [path, body])).toEqual([
    [
      '/tool-sessions/approve',
      { token: TOOL_TOKEN, scopes: ['publish-update', 'yank'], apps: ['*'], lifetime_days: 90, keys: [] },
    ],
  ]);
  await page.reload();
  await expect(page.getByRole('heading', { level: 1, name: 'Invalid session' })).toBeVisible();
});

test('a name that is taken is answered at its field, and a sign-in that is long ago beside the buttons', async ({
  page,
}) => {
  await open(page, { ...developer, needSignIn: ['POST /tool-sessions/approve'] }, toolPath('connect-cli'));
  await page.getByLabel('Name', { exact: true }).fill('Laptop');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('button', { name: 'Sign in and continue' }).click();
  await expect(page.getByText('Laptop already exists.')).toBeVisible();
  await expect(page.getByLabel('Name', { exact: true })).toBeFocused();
});

for (const display of displaySettings) {
  test(`a customer signs in on a computer, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    const recorded = await serve(page, { signedIn: true, tool: { request: loginRequest } });
    await page.goto(toolPath('login-cli'));
    await expect(page.getByRole('heading', { level: 1, name: /Sign in on a computer|在电脑上登录/ })).toBeVisible();
    await expect(page.getByText('Souk CLI on laptop')).toBeVisible();
    await expect(page.getByText('2EZ4-ZTQA')).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /^Approve$|^批准$/ }).click();
    await expect(page.getByRole('heading', { level: 1, name: /Request approved|请求已批准/ })).toBeVisible();
    // No access token is asked for, and no key is created here.
    expect(decisions(recorded).map(({ path, body }) => [path, body])).toEqual([
      ['/tool-sessions/approve', { token: TOOL_TOKEN, keys: [] }],
    ]);
  });
}

test('a denied request creates nothing', async ({ page }) => {
  const recorded = await open(page, developer, toolPath('connect-cli'));
  await page.getByRole('button', { name: 'Deny' }).click();
  await expect(page.getByText('The tool received nothing.')).toBeVisible();
  expect(decisions(recorded).map(({ path }) => path)).toEqual(['/tool-sessions/deny']);
});

test('the browser keeps the secret keys of apps, in a file that must be saved before the approval', async ({
  page,
}) => {
  const recorded = await open(page, { signedIn: true, tool: { request: keysRequest } }, toolPath('gen-key-pair'));
  const approve = page.getByRole('button', { name: 'Approve' });
  await expect(approve).toBeDisabled();
  await expect(page.getByText('Create the app keys before you approve.')).toBeVisible();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Create keys and save file' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('app-keys.json');
  const text = await readFile(await download.path(), 'utf8');
  const saved = JSON.parse(text) as { name: string; did: string; publicKey: string; secretKey: string }[];
  expect(saved.map(({ name }) => name)).toEqual(['atlas', 'orbit']);
  const [again] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save file again' }).click(),
  ]);
  expect(await readFile(await again.path(), 'utf8')).toBe(text);
  await approve.click();
  await expect(page.getByRole('heading', { level: 1, name: 'Request approved' })).toBeVisible();
  const sent = decisions(recorded)[0]?.body;
  const keys = saved.map(({ did, publicKey }) => ({ address: did, public_key: publicKey }));
  expect(sent).toEqual({ token: TOOL_TOKEN, keys });
  for (const { secretKey } of saved) expect(JSON.stringify(recorded.calls)).not.toContain(secretKey);
});

test('the keys stay the ones of the saved file when the approval needs a new sign-in', async ({ page }) => {
  const needSignIn = ['POST /tool-sessions/approve'];
  const options = { signedIn: true, tool: { request: keysRequest }, needSignIn };
  const recorded = await open(page, options, toolPath('gen-key-pair'));
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Create keys and save file' }).click(),
  ]);
  const saved = JSON.parse(await readFile(await download.path(), 'utf8')) as { did: string }[];
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('button', { name: 'Sign in and continue' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Request approved' })).toBeVisible();
  const sent = decisions(recorded).at(-1)?.body as { keys: { address: string }[] };
  expect(sent.keys.map(({ address }) => address)).toEqual(saved.map(({ did }) => did));
});

for (const [name, path] of [
  ['without a session', '/gen-key-pair'],
  ['of another store', toolPath('connect-cli', { origin: 'https://evil.example' })],
  ['of another action', toolPath('connect-cli').replace('/connect-cli?', '/connect-studio?')],
] as const) {
  test(`a link ${name} is an invalid session`, async ({ page }) => {
    const recorded = await open(page, developer, path);
    await expect(page.getByRole('heading', { level: 1, name: 'Invalid session' })).toBeVisible();
    expect(decisions(recorded)).toEqual([]);
  });
}

test('an expired session is invalid, and a failed connection can be tried again', async ({ page }) => {
  const failing: Record<string, number> = { '/tool-sessions/preview': 500 };
  await open(page, { ...developer, tool: { request: null }, failing }, toolPath('connect-cli'));
  await expect(page.getByText('Connection error')).toBeVisible();
  delete failing['/tool-sessions/preview'];
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByText('Run the connect command again.')).toBeVisible();
});

test('a visitor signs in before a request is shown, and stays on the link', async ({ page }) => {
  const recorded = await open(page, {}, toolPath('connect-cli'));
  await expect(page.getByRole('heading', { name: 'Sign in to see this page' })).toBeVisible();
  await expect(page).toHaveURL(/__connect_url__=/);
  expect(recorded.calls.some(({ path }) => path.startsWith('/tool-sessions'))).toBe(false);
});

test('a user without passport can deny the request', async ({ page }) => {
  const recorded = await open(page, { signedIn: true, role: 'owner' }, toolPath('connect-cli'));
  await expect(page.getByText('Ask an administrator of this store for an invitation, then try again.')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Back to store', exact: true })).toHaveAttribute('href', '/');
  await page.getByRole('button', { name: 'Deny' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Request denied' })).toBeVisible();
  expect(decisions(recorded).map(({ path }) => path)).toEqual(['/tool-sessions/deny']);
});

test('only an opener of this store is told, and the window closes if the tool asked for it', async ({ page }) => {
  await applyDisplaySettings(page);
  await page.context().addInitScript(() => {
    window.addEventListener('message', ({ origin, data }) => {
      if (data?.type === 'connect-store-message') document.title = `${origin} ${JSON.stringify(data)}`;
    });
  });
  await serve(page, developer);
  await page.goto('/');
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.evaluate(() => void window.open('about:blank'))]);
  await serve(popup, developer);
  await popup.goto(toolPath('connect-cli', { query: '&closeOnSuccess=1' }));
  await Promise.all([popup.waitForEvent('close'), popup.getByRole('button', { name: 'Approve' }).click()]);
  const { origin } = new URL(page.url());
  await expect(page).toHaveTitle(`${origin} {"type":"connect-store-message","success":true}`);
});
