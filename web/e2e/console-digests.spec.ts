import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { blockedDigest, containingVersion, digest } from './fixtures/publishing';
import { APP, NOW } from './fixtures/reviews';
import { serve } from './fixtures/server';

const OTHER = digest('77aa');
const digests = [
  blockedDigest(),
  blockedDigest({ sha256: OTHER, reason: 'A miner', version_count: 0, offered_count: 0 }),
];
const versions = [containingVersion(), containingVersion({ version: '1.1.0', status: 'REJECTED', is_offered: false })];

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW));

for (const display of displaySettings) {
  test(`an administrator sees blocked files, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'admin', publishing: { digests, versions } });
    await page.goto('/console/blocked-digests');
    await expect(
      page.getByText(/Published versions contain blocked files|部分已发布的版本包含禁用的文件/),
    ).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /^2 versions|^2 个版本/ }).click();
    await expect(page.getByRole('link', { name: 'atlas-notes 1.2.0' })).toBeVisible();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await page.getByRole('button', { name: /^Block file$|^禁用文件$/ }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await page.getByRole('button', { name: /^(Unblock|解除禁用) ?5e1f/ }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page);
  });
}

test('a file is blocked with a reason, which is changed, and unblocked', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'admin' });
  await page.goto('/console/blocked-digests');
  await expect(page.getByText('No files are blocked.')).toBeVisible();
  await page.getByRole('button', { name: 'Block file' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Block', exact: true }).click();
  await expect(dialog.getByText('Enter 64 hexadecimal digits.')).toBeVisible();
  await expect(dialog.getByLabel('SHA-256')).toBeFocused();
  await dialog.getByLabel('SHA-256').fill(` ${OTHER.toUpperCase()} `);
  await dialog.getByLabel('Reason').fill('x'.repeat(256));
  await expect(dialog.getByText('Write at most 255 characters.')).toBeVisible();
  await dialog.getByLabel('Reason').fill('A miner');
  await dialog.getByRole('button', { name: 'Block', exact: true }).click();
  await expect(dialog).toHaveCount(0);
  const table = page.getByRole('table', { name: 'Blocked files' });
  await expect(table).toContainText('A miner');
  await page.getByRole('button', { name: /^Change the reason for 77aa/ }).click();
  await dialog.getByLabel('Reason').fill('It mines coins');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(table).toContainText('It mines coins');
  await page.getByRole('button', { name: /^Unblock 77aa/ }).click();
  await dialog.getByRole('button', { name: 'Unblock file' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByText('No files are blocked.')).toBeVisible();
  const writes = recorded.calls.filter(({ method }) => method !== 'GET');
  expect(writes.map(({ method, path, body }) => [method, path, body])).toEqual([
    ['PUT', `/console/blocked-digests/${OTHER}`, { reason: 'A miner' }],
    ['PUT', `/console/blocked-digests/${OTHER}`, { reason: 'It mines coins' }],
    ['DELETE', `/console/blocked-digests/${OTHER}`, null],
  ]);
});

test('blocked files are searched, and their versions lead to the review', async ({ page }) => {
  await applyDisplaySettings(page);
  await serve(page, { signedIn: true, role: 'admin', publishing: { digests, versions } });
  await page.goto('/console/blocked-digests');
  await page.getByRole('textbox', { name: 'SHA-256 or reason' }).fill('77aa');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await expect(page).toHaveURL('/console/blocked-digests?keyword=77aa');
  await expect(page.getByText('A miner')).toBeVisible();
  await expect(page.getByText('It sends passwords to strangers')).toHaveCount(0);
  await expect(page.getByText('Published versions contain blocked files')).toHaveCount(0);
  await page.getByRole('textbox', { name: 'SHA-256 or reason' }).fill('nothing');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByRole('button', { name: 'Clear search' }).click();
  await expect(page).toHaveURL('/console/blocked-digests');
  await page.getByRole('button', { name: /^2 versions/ }).click();
  await expect(page.getByRole('dialog').getByText('Offered to new users')).toHaveCount(1);
  await page.getByRole('link', { name: 'atlas-notes 1.2.0' }).click();
  await expect(page).toHaveURL(`/console/reviews/${APP}/1.2.0`);
});

for (const role of ['reviewer', 'developer'] as const) {
  test(`blocked files are for administrators only: ${role}`, async ({ page }) => {
    await applyDisplaySettings(page);
    const recorded = await serve(page, { signedIn: true, role });
    await page.goto('/console/blocked-digests');
    await expect(page.getByRole('heading', { level: 1, name: /administrators/ })).toBeVisible();
    expect(recorded.calls.some(({ path }) => path.startsWith('/console/blocked-digests'))).toBe(false);
  });
}
