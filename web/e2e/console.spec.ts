import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { NOW } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW * 1000));

for (const display of displaySettings) {
  test(`an owner sees the publishing settings, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'owner' });
    await page.goto('/console/settings');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/Publishing settings|发布设置/);
    await expect(page.getByLabel(/Maximum bundle size|安装包大小上限/)).toHaveValue('500');
    await expectAccessible(page);
  });
}

test('each role finds the pages that it can open in the navigation', async ({ page }) => {
  await applyDisplaySettings(page);
  const links = page.getByRole('navigation', { name: 'Console' }).getByRole('link');
  await serve(page, { signedIn: true, role: 'owner' });
  await page.goto('/console');
  await expect(page).toHaveURL('/console/developers');
  await expect(links.filter({ hasText: 'Store health' })).toHaveCount(1);
  await expect(links.filter({ hasText: 'Developers' })).toHaveAttribute('aria-current', 'page');
  await serve(page, { signedIn: true, role: 'admin' });
  await page.goto('/console/audit-log');
  await expect(links.filter({ hasText: 'Audit log' })).toHaveAttribute('aria-current', 'page');
  await expect(links.filter({ hasText: 'Store health' })).toHaveCount(0);
  await serve(page, { signedIn: true });
  await page.goto('/console');
  await expect(page.getByRole('heading', { level: 1, name: 'This page is for administrators' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Back to store', exact: true })).toHaveAttribute('href', '/');
  await expect(links).toHaveCount(0);
});

test('the navigation of the console opens as a dialog, on a phone', async ({ page }) => {
  test.skip((page.viewportSize()?.width ?? 0) > 767);
  await applyDisplaySettings(page);
  await serve(page, { signedIn: true, role: 'owner' });
  await page.goto('/console/settings');
  await page.getByRole('button', { name: 'Console menu' }).click();
  await expectAccessible(page);
  await page.getByRole('dialog').getByRole('link', { name: 'Audit log' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Audit log' })).toBeVisible();
  await expect(page.getByRole('dialog')).toHaveCount(0);
});

test('saving settings keeps the form and its focus', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'owner' });
  await page.goto('/console/settings');
  const bundle = page.getByLabel('Maximum bundle size');
  await bundle.fill('100');
  await page.getByLabel("Store's share of each sale").fill('25');
  const form = await page.locator('form#preferences').elementHandle();
  await page.getByLabel("Store's share of each sale").press('Enter');
  await expect(page.getByText('Settings saved.')).toBeVisible();
  await expect(page.getByLabel("Store's share of each sale")).toBeFocused();
  expect(await form?.evaluate((element) => element.isConnected)).toBe(true);
  await expect(bundle).toHaveValue('100');
  await bundle.fill('200');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByText('Settings saved.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Save settings' })).toBeFocused();
  const sent = recorded.calls.filter(({ method }) => method === 'PUT').map(({ body }) => body);
  expect(sent).toMatchObject([
    { bundle_max_mb: 100, store_share: '0.25', version: 0 },
    { bundle_max_mb: 200, store_share: '0.25', version: 1 },
  ]);
});

test('the owner names the issuers of CI tokens', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'owner' });
  await page.goto('/console/settings');
  const gitlab = page.getByLabel('GitLab issuers');
  await gitlab.fill('git.example');
  await gitlab.press('Enter');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByText('Enter at most 10 different addresses that begin with https://.')).toBeVisible();
  // For a moment after it was typed in, the field uses Backspace for its text only.
  const wrong = page.getByTitle('git.example', { exact: true });
  await expect(wrong).toHaveCount(1);
  await expect(async () => {
    if ((await wrong.count()) > 0) await gitlab.press('Backspace');
    await expect(wrong).toHaveCount(0, { timeout: 500 });
  }).toPass();
  await gitlab.fill('https://git.example');
  await gitlab.press('Enter');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByText('Settings saved.')).toBeVisible();
  expect(recorded.calls.find(({ method }) => method === 'PUT')?.body).toMatchObject({
    github_issuers: ['https://token.actions.githubusercontent.com'],
    gitlab_issuers: ['https://gitlab.com', 'https://git.example'],
  });
});

test('settings that someone else has changed are reloaded on request', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'owner' });
  await page.goto('/console/settings');
  await page.getByLabel('Maximum bundle size').fill('100');
  recorded.billing.preferences = { ...recorded.billing.preferences, version: 7, bundle_max_mb: 40 };
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByText('Someone else has changed these settings in the meantime.')).toBeVisible();
  await expect(page.getByLabel('Maximum bundle size')).toHaveValue('100');
  await page.getByRole('button', { name: 'Reload settings' }).click();
  await expect(page.getByLabel('Maximum bundle size')).toHaveValue('40');
  await page.getByLabel('Maximum bundle size').fill('50');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByText('Settings saved.')).toBeVisible();
});

test('a field that is not valid is named, and a sensitive change asks for a sign-in', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'owner', needSignIn: ['PUT /console/preferences'] });
  await page.goto('/console/settings');
  const share = page.getByLabel("Store's share of each sale");
  await share.fill('150');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByText('Enter a value from 0 to 100.')).toBeVisible();
  await expect(share).toBeFocused();
  expect(recorded.calls.some(({ method }) => method === 'PUT')).toBe(false);
  await share.fill('50');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByText('Settings saved.')).toHaveCount(0);
  await page.getByRole('button', { name: /Sign in/ }).click();
  await expect(page.getByText('Settings saved.')).toBeVisible();
});
