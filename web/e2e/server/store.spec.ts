import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, type Page, test } from '@playwright/test';
import type { App, AppDetail, Page as List } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import { applyDisplaySettings } from '../fixtures/display-settings';
import { expectStable, recordLayoutShifts } from '../fixtures/layout-shift';
import { requireServer, respondInWallet } from './wallet';

test.beforeEach(async ({ page }) => {
  requireServer();
  await applyDisplaySettings(page);
  await recordLayoutShifts(page);
});

async function apps(page: Page, price: 'free' | 'paid'): Promise<App[]> {
  const response = await page.request.get(`/api/apps?price=${price}&pageSize=50&sort=name&livemode=false`);
  return ((await response.json()) as List<App>).list;
}

async function appOf(page: Page, did: string): Promise<AppDetail> {
  return (await page.request.get(`/api/apps/${did}?livemode=false`)).json();
}

/** Downloads the file and compares its digest with the page. */
async function downloadChecked(page: Page, button: string | RegExp, sha256: string | undefined): Promise<void> {
  const started = page.waitForEvent('download');
  await page.getByRole('main').getByRole('link', { name: button }).first().click();
  const path = await (await started).path();
  expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(sha256);
}

test('a visitor finds a free app by its Chinese name and downloads a file with the right digest', async ({ page }) => {
  const [app] = await apps(page, 'free');
  const detail = await appOf(page, app?.did ?? '');
  await page.goto('/');
  for (const shelf of ['New', 'Recently updated', 'Trending'])
    await expect(page.getByRole('region', { name: shelf })).toBeVisible();
  await page.getByRole('textbox', { name: 'Search apps' }).fill(detail.title.zh);
  await expect(page).toHaveURL(/\/search\?keyword=/);
  await page.getByRole('main').getByRole('link', { name: detail.title.en, exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: detail.title.en })).toBeVisible();
  await expect(page.getByText(detail.versions[0]?.sha256 ?? 'no digest')).toBeVisible();
  await downloadChecked(page, 'Get', detail.versions[0]?.sha256);
  await expectStable(page);
  await expectAccessible(page);
});

test('every app page is accessible', async ({ page }) => {
  test.setTimeout(120_000);
  for (const app of [...(await apps(page, 'free')), ...(await apps(page, 'paid'))]) {
    await page.goto(`/apps/${app.did}`);
    await expect(page.getByRole('heading', { level: 1, name: app.title.en })).toBeVisible();
    await expect(page.getByRole('heading', { name: 'Versions' })).toBeVisible();
    await expectStable(page);
    await expectAccessible(page);
  }
});

test('a visitor cannot download a paid app', async ({ page }) => {
  const [app] = await apps(page, 'paid');
  const response = await page.request.get(`/api/apps/${app?.did}/${app?.version}/bundle`);
  expect(response.status()).toBe(401);
});

test('a buyer finds app, payment, invoice and PDFs in the portal, and downloads the app', async ({ page }) => {
  test.setTimeout(120_000);
  const [app] = await apps(page, 'paid');
  const detail = await appOf(page, app?.did ?? '');
  await page.goto('/customer');
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in to see this page' })).toBeVisible();
  await respondInWallet(page, [/^Sign in/, /^Sign in/]);
  await expect(page).toHaveURL('/customer');
  await expect(page.getByText("You haven't bought any apps yet.")).toBeVisible();
  // Signing in replaces the content of the page. The load of the page is measured.
  await page.reload();
  await expect(page.getByText("You haven't bought any apps yet.")).toBeVisible();
  await expect(page.getByText('No invoices yet.')).toBeVisible();
  await expectStable(page);
  await expectAccessible(page);

  await page.goto(`/apps/${detail.did}`);
  await page.getByRole('link', { name: /^Buy for/ }).click();
  await expect(page).toHaveURL(/\/checkout\/pay\/cs_/);
  await page.getByRole('radio', { name: /Card/ }).check({ force: true });
  for (const [label, value] of [
    ['Full name', 'Mei Lin'],
    ['Email', 'mei@example.com'],
    ['Postal code', '94103'],
  ] as const) {
    const field = page.getByLabel(label, { exact: false }).first();
    if ((await field.isVisible()) && !(await field.inputValue())) await field.fill(value);
  }
  await page.locator('.checkout-pay button').click();
  await page.locator('#card_number').fill('4242 4242 4242 4242');
  await page.locator('#card_expiry').fill('12/34');
  await page.locator('#card_cvc').fill('123');
  await page.locator('dialog button[type=submit]').click();
  await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible({ timeout: 30_000 });

  await page.goto('/customer');
  await expect(page.getByRole('heading', { level: 3, name: detail.title.en })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Payments' }).getByText('Paid', { exact: true })).toBeVisible();
  await expectStable(page);
  await expectAccessible(page);
  await downloadChecked(page, new RegExp(`^Download ${detail.title.en}`), detail.versions[0]?.sha256);

  await page.getByRole('link', { name: `Invoice for ${detail.title.en}` }).click();
  await expect(page.getByRole('heading', { level: 1, name: /^Invoice / })).toBeVisible();
  await expect(page.getByText('Test invoice. No real money was charged.')).toBeVisible();
  await expectStable(page);
  await expectAccessible(page);
  for (const [language, title] of [
    ['English', detail.title.en],
    ['Chinese', detail.title.zh],
  ] as const) {
    const started = page.waitForEvent('download');
    await page.getByRole('link', { name: `PDF in ${language}` }).click();
    const text = execFileSync('pdftotext', [await (await started).path(), '-'], { encoding: 'utf8' });
    // A long name continues on the next line.
    expect(text.replace(/\s/g, '')).toContain(title.replace(/\s/g, ''));
  }

  await page.goto(`/apps/${detail.did}`);
  await expect(page.getByRole('link', { name: 'Download', exact: true })).toBeVisible();

  await page.goto('/profile');
  await page.getByLabel('Full name').fill('Mei Lin Zhang');
  await page.getByLabel('Email').fill('mei@example.com');
  await page.getByLabel('Country or region').fill('Germ');
  await page.getByTitle('Germany').click();
  await page.getByLabel('Postal code').fill('10115');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved.')).toBeVisible();
  const saved = await (await page.request.get('/api/customers/me?livemode=false')).json();
  expect(saved.address).toMatchObject({ country: 'de', postal_code: '10115' });

  await page
    .getByRole('banner')
    .getByRole('button', { name: /^Account of/ })
    .click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await expect(page).toHaveURL('/');
  await expect(page.getByRole('banner').getByRole('button', { name: 'Sign in' })).toBeVisible();
});
