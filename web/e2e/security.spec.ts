import { expect, test } from '@playwright/test';
import type { Examination } from '../src/api/types';
import { expectAccessible } from './fixtures/axe';
import { NOW } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW * 1000));

/** A computer that is signed in from the command line. */
const device = (id: string, name: string) => ({
  id,
  name,
  created_at: '2026-11-01T08:00:00.000Z',
  used_at: '2026-11-20T09:00:00.000Z',
  expires_at: '2027-11-01T08:00:00.000Z',
});
const devices = [device('z1laptop', 'Souk CLI on laptop'), device('z1server', 'Souk CLI on server')];

for (const display of displaySettings) {
  test(`a user sees devices, links and data, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, billing: { devices } });
    await page.goto('/customer/security');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/Security and privacy|安全与隐私/);
    await expect(page.getByText('Souk CLI on laptop')).toBeVisible();
    await expect(page.getByText(/Firefox on Linux|Linux 上的 Firefox/)).toBeVisible();
    await expect(page.getByText(/Unknown browser|未知浏览器/)).toBeVisible();
    await expectAccessible(page);
  });

  test(`an administrator reads the audit log, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'owner' });
    await page.goto('/console/audit-log');
    await expect(page.getByText(/Changed a product|修改商品/).first()).toBeVisible();
    await expectAccessible(page);
  });
}

test('a user signs out one other device, and then all others', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true });
  await page.goto('/customer/security');
  const signOut = page.getByRole('button', { name: /^Sign out (?!everywhere)/ });
  await expect(signOut).toHaveCount(2);
  await page.getByRole('button', { name: 'Sign out Chrome on Android' }).click();
  await expect(signOut).toHaveCount(1);
  await page.getByRole('button', { name: 'Sign out everywhere else' }).click();
  await expect(signOut).toHaveCount(0);
  await expect(page.getByText('This device')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Sign out everywhere else' })).toHaveCount(0);
  const deleted = recorded.calls.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
  expect(deleted).toEqual(['/session/logins/lgn_phone', '/session/logins']);
});

test('a user signs out on a computer with the command line', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, billing: { devices } });
  await page.goto('/customer/security');
  await expect(page.getByRole('heading', { name: 'Computers signed in from the command line' })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Sign out Souk CLI on laptop' }).click();
  await expect(page.getByText('Souk CLI on laptop')).toHaveCount(0);
  await page.getByRole('button', { name: 'Sign out Souk CLI on server' }).click();
  await expect(page.getByRole('heading', { name: 'Computers signed in from the command line' })).toHaveCount(0);
  const deleted = recorded.calls.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
  expect(deleted).toEqual(['/devices/z1laptop', '/devices/z1server']);
});

test('a user makes past email links invalid', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true });
  await page.goto('/customer/security');
  await page.getByRole('button', { name: 'Make past links invalid' }).click();
  await expect(page.getByText('Links in emails until now no longer work.')).toBeVisible();
  expect(recorded.calls.some(({ path }) => path === '/customers/me/revoke-links')).toBe(true);
});

test('the audit log shows older entries on request, and only those of a filter', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'admin' });
  await page.goto('/console/audit-log');
  // On a phone the table has no head.
  const rows = page
    .getByRole('table')
    .getByRole('row')
    .filter({ has: page.getByRole('cell') });
  await expect(rows).toHaveCount(30);
  await page.getByRole('button', { name: 'Show older entries' }).click();
  await expect(rows).toHaveCount(40);
  await expect(page.getByRole('button', { name: 'Show older entries' })).toHaveCount(0);
  expect(
    recorded.calls
      .filter(({ path }) => path === '/audit-log')
      .at(-1)
      ?.query.get('starting_after'),
  ).toBe('aud_70');
  await page.goto('/console/audit-log?operation=product.update');
  await expect(rows).toHaveCount(13);
  await expect(page.getByRole('table').getByText('Refunded')).toHaveCount(0);
  await page.getByPlaceholder('For example in_… or cus_…').fill('in_due1');
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await expect(page).toHaveURL(/object=in_due1/);
});

test('customers cannot open the audit log', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true });
  await page.goto('/console/audit-log');
  await expect(page.getByText('This page is for administrators')).toBeVisible();
  expect(recorded.calls.some(({ path }) => path === '/audit-log')).toBe(false);
});

test('a user downloads and erases their data', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true });
  await page.goto('/customer/security');
  await page.route('**/api/customers/me/export*', (route) =>
    route.fulfill({ status: 429, json: { error: 'Too often', code: 'TOO_MANY_EXPORTS' } }),
  );
  await page.getByRole('button', { name: 'Download my data' }).click();
  await expect(page.getByText("You've downloaded your data too often.")).toBeVisible();
  await page.route('**/api/customers/me/export*', (route) => route.fulfill({ json: { records: {} } }));
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download my data' }).click();
  expect((await download).suggestedFilename()).toBe('my-data.json');
  await page.getByRole('button', { name: 'Erase my data' }).click();
  await expectAccessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Erase my data' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Your data has been erased.' })).toBeVisible();
  expect(recorded.calls.some(({ method, path }) => method === 'POST' && path === '/customers/me/erasure')).toBe(true);
});

test('what stands in the way of an erasure is listed', async ({ page }) => {
  await applyDisplaySettings(page);
  await serve(page, { signedIn: true, billing: { obstacles: ['active_subscription', 'balance', 'earnings'] } });
  await page.goto('/customer/security');
  await expect(page.getByText('You have an active subscription.')).toBeVisible();
  await expect(page.getByText('You have a balance with us.')).toBeVisible();
  await expect(page.getByText('You have earned shares of sales')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Erase my data' })).toHaveCount(0);
});

const findings: Examination['list'] = [
  {
    code: 'disk',
    severity: 'error',
    params: { host: 'shop-1', path: '/data', free: '112000000', reserve: '268000000' },
  },
  { code: 'holds', severity: 'error', params: { count: '3' } },
  { code: 'held_payments', severity: 'error', params: { count: '2' } },
  { code: 'untrusted_proxy', severity: 'warning', params: { address: '10.0.0.9' } },
  { code: 'mixed_versions', severity: 'warning', params: { versions: '1.4.0, 1.5.0' } },
  { code: 'mixed_options', severity: 'warning', params: { options: 'name, retry-days' } },
  { code: 'process_without_mail', severity: 'warning', params: { hosts: 'shop-2' } },
  { code: 'default_daily_cap', severity: 'notice', params: { symbol: 'USD' } },
];

for (const display of displaySettings) {
  test(`an owner sees what is wrong with the store, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'owner', billing: { findings } });
    await page.goto('/console/doctor');
    await expect(page.getByText(/112\sMB free at \/data on shop-1|shop-1 上的 \/data 仅剩 112\sMB/)).toBeVisible();
    await expect(page.getByText(/--trusted-proxy 10\.0\.0\.9/)).toBeVisible();
    await expect(page.getByRole('link', { name: /^Show what is on hold$|^查看暂停计费的订阅$/ })).toHaveCount(1);
    await expect(page.getByRole('link', { name: /^Show payments on hold$|^查看待处理的付款$/ })).toHaveCount(1);
    await expectAccessible(page);
  });
}

test('the health of the store is for owners', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'admin' });
  await page.goto('/console/doctor');
  await expect(page.getByText('This page is for owners')).toBeVisible();
  expect(recorded.calls.some(({ path }) => path === '/doctor')).toBe(false);
});
