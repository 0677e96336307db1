import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { NOW } from './fixtures/billing';
import { accessToken, SECRET_KEY, user } from './fixtures/data';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { AUDIENCE, GITHUB, trustedPublisher } from './fixtures/publishing';
import { serve } from './fixtures/server';

const tokens = [
  accessToken(),
  accessToken({ id: 'z1Laptop', name: 'Laptop', scopes: ['yank'], apps: ['atlas-*', 'orbit'], last_used_at: null }),
  accessToken({ id: 'z1Old', name: 'Old', status: 'revoked' }),
];

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW * 1000));

for (const display of displaySettings) {
  test(`a developer sees access tokens and the secret of a new one, in ${display.locale}, ${display.scheme}`, async ({
    page,
  }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'developer', billing: { accessTokens: tokens } });
    await page.goto('/developer/access-tokens');
    await expect(page.getByText('Build server')).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /Create access token|创建访问令牌/ }).click();
    await expectAccessible(page);
    await page
      .getByRole('dialog')
      .getByLabel(/^Name$|^名称$/)
      .fill('CI');
    await page.getByRole('button', { name: /Create token|创建令牌/ }).click();
    await page.getByRole('button', { name: /Show token|显示令牌/ }).click();
    await expectAccessible(page);
  });
}

test('the secret of a token is shown once, and only after it was copied the dialog closes', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'developer' });
  await page.goto('/');
  await page.getByRole('button', { name: 'Account of Mei Lin' }).click();
  await page.getByRole('menuitem', { name: 'Access tokens' }).click();
  await expect(page.getByText('No access tokens yet.')).toBeVisible();
  const create = page.getByRole('button', { name: 'Create access token' });
  await create.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Create token' }).click();
  await expect(dialog.getByText('Access Token Name is required')).toBeVisible();
  await expect(dialog.getByLabel('Name', { exact: true })).toBeFocused();
  await dialog.getByLabel('Name', { exact: true }).fill('CI');
  await dialog.getByRole('button', { name: 'Create token' }).click();
  await expect(page.getByText('Copy your access token')).toBeVisible();
  await expect(page.getByText(SECRET_KEY)).toHaveCount(0);
  const done = dialog.getByRole('button', { name: 'Done' });
  await expect(done).toBeDisabled();
  await page.keyboard.press('Escape');
  await expect(dialog).toBeVisible();
  await dialog.getByRole('button', { name: 'Show token' }).click();
  const secret = dialog.getByLabel('Access token', { exact: true });
  await expect(secret).toBeFocused();
  await expect(secret).toHaveValue(SECRET_KEY);
  await expect(dialog.getByRole('textbox', { name: 'Commands for your publishing tool' })).toHaveValue(
    new RegExp(`developerDid ${user.did}\n.*accessToken ${SECRET_KEY}`),
  );
  await dialog.getByRole('checkbox').check();
  await done.click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole('table', { name: 'Access tokens' })).toContainText('CI');
  await expect(create).toBeFocused();
  expect(recorded.calls.find(({ method }) => method === 'POST')?.body).toEqual({
    name: 'CI',
    scopes: ['publish-new', 'publish-update'],
    apps: ['*'],
    lifetime_days: 90,
  });
});

test('a token is deleted by typing its name', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'developer', billing: { accessTokens: tokens } });
  await page.goto('/developer/access-tokens');
  await page.getByRole('button', { name: 'Delete Laptop' }).click();
  const dialog = page.getByRole('dialog');
  const remove = dialog.getByRole('button', { name: 'Delete token' });
  await expect(remove).toBeDisabled();
  await dialog.getByLabel('Type "Laptop" to confirm').fill('Lap');
  await expect(remove).toBeDisabled();
  await dialog.getByLabel('Type "Laptop" to confirm').fill('Laptop');
  await remove.click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByText('Laptop')).toHaveCount(0);
  const deleted = recorded.calls.find(({ method }) => method === 'DELETE');
  expect([deleted?.path, deleted?.query.get('name')]).toEqual(['/developer/access-tokens/z1Laptop', 'Laptop']);
});

test('a name that is taken and a sign-in that is long ago are answered in the dialog', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, {
    signedIn: true,
    role: 'developer',
    billing: { accessTokens: tokens },
    needSignIn: ['POST /developer/access-tokens'],
  });
  await page.goto('/developer/access-tokens');
  await page.getByRole('button', { name: 'Create access token' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('Laptop');
  await dialog.getByRole('button', { name: 'Create token' }).click();
  await dialog.getByRole('button', { name: 'Sign in and continue' }).click();
  await expect(dialog.getByText('Laptop already exists.')).toBeVisible();
  await expect(dialog.getByLabel('Name', { exact: true })).toBeFocused();
  expect(
    recorded.calls.filter(({ method, path }) => method === 'POST' && path === '/developer/access-tokens'),
  ).toHaveLength(2);
});

test('a token is found by its name', async ({ page }) => {
  await applyDisplaySettings(page);
  await serve(page, { signedIn: true, role: 'developer', billing: { accessTokens: tokens } });
  await page.goto('/developer/access-tokens');
  await page.getByLabel('Search by name').fill('lap');
  await expect(page.getByText('Laptop', { exact: true })).toBeVisible();
  await expect(page.getByText('Build server')).toHaveCount(0);
  await page.getByLabel('Search by name').fill('nothing');
  await expect(page.getByText('No access token matches your search.')).toBeVisible();
});

for (const role of [undefined, 'owner'] as const) {
  test(`access tokens are for developers only: ${role ?? 'customer'}`, async ({ page }) => {
    await applyDisplaySettings(page);
    const recorded = await serve(page, { signedIn: true, role });
    await page.goto('/developer/access-tokens');
    await expect(page.getByRole('heading', { level: 1, name: 'This page is for developers' })).toBeVisible();
    expect(recorded.calls.some(({ path }) => path.startsWith('/developer/'))).toBe(false);
  });
}

const publishers = [
  trustedPublisher(),
  trustedPublisher({
    id: 'tp_2',
    issuer: 'https://gitlab.com',
    repository: 'group/sub/orbit',
    repository_id: null,
    workflow: null,
    environment: null,
    protected_refs_only: false,
    apps: ['*'],
    status: 'not_accepted',
    last_used_at: null,
  }),
];

for (const display of displaySettings) {
  test(`a developer sees trusted publishers and registers one, in ${display.locale}, ${display.scheme}`, async ({
    page,
  }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'developer', publishing: { publishers } });
    await page.goto('/developer/access-tokens');
    await expect(page.getByText('octo/atlas-notes')).toBeVisible();
    await expect(page.getByText(/Issuer not accepted|商店不接受此签发方/)).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /Register trusted publisher|登记可信发布者/ }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page);
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Register$|^登 ?记$/ })
      .click();
    await expect(page.getByText(/Enter the full path of the repository|请输入代码仓库的完整路径/)).toBeVisible();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await page.getByRole('button', { name: /^(Remove|移除) ?octo\/atlas-notes$/ }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page);
  });
}

test('a trusted publisher is registered, shown with an example, and removed', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'developer' });
  await page.goto('/developer/access-tokens');
  await expect(page.getByText('No trusted publishers yet.')).toBeVisible();
  const register = page.getByRole('button', { name: 'Register trusted publisher' });
  await register.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Register', exact: true }).click();
  await expect(dialog.getByLabel('Repository')).toBeFocused();
  await dialog.getByLabel('Repository').fill('octo/night-sky');
  await dialog.getByLabel('Numeric ID (optional)').fill('42');
  await dialog.getByLabel('Workflow (optional)').fill('not a file');
  await dialog.getByRole('button', { name: 'Register', exact: true }).click();
  await expect(dialog.getByText('Enter the file of a workflow, such as release.yml.')).toBeVisible();
  await expect(dialog.getByLabel('Workflow (optional)')).toBeFocused();
  await dialog.getByLabel('Workflow (optional)').fill('release.yml');
  await dialog.getByRole('button', { name: 'Register', exact: true }).click();
  await expect(dialog).toHaveCount(0);
  await expect(register).toBeFocused();
  const table = page.getByRole('table', { name: 'Trusted publishers' });
  await expect(table).toContainText('octo/night-sky');
  await expect(page.getByRole('textbox', { name: 'Example job (GitHub Actions)' })).toHaveValue(
    new RegExp(`id-token: write[\\s\\S]*SOUK_STORE: ${AUDIENCE}`),
  );
  expect(recorded.calls.findLast(({ method }) => method === 'POST')?.body).toEqual({
    issuer: GITHUB,
    repository: 'octo/night-sky',
    repository_id: '42',
    workflow: 'release.yml',
    environment: '',
    protected_refs_only: true,
    scopes: ['publish-update'],
    apps: ['*'],
  });
  await page.getByRole('button', { name: 'Remove octo/night-sky' }).click();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByText('No trusted publishers yet.')).toBeVisible();
});

test('a registration long after the sign-in asks for another one', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, {
    signedIn: true,
    role: 'developer',
    needSignIn: ['POST /developer/trusted-publishers'],
  });
  await page.goto('/developer/access-tokens');
  await page.getByRole('button', { name: 'Register trusted publisher' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Repository').fill('octo/night-sky');
  await dialog.getByRole('button', { name: 'Register', exact: true }).click();
  await dialog.getByRole('button', { name: 'Sign in and continue' }).click();
  await expect(page.getByRole('table', { name: 'Trusted publishers' })).toContainText('octo/night-sky');
  expect(
    recorded.calls.filter(({ method, path }) => method === 'POST' && path === '/developer/trusted-publishers'),
  ).toHaveLength(2);
});

test('a store without issuers offers no trusted publishers', async ({ page }) => {
  await applyDisplaySettings(page);
  await serve(page, { signedIn: true, role: 'developer', publishing: { issuers: [] } });
  await page.goto('/developer/access-tokens');
  await expect(page.getByText('This store accepts no CI.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Register trusted publisher' })).toHaveCount(0);
});
