import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, type Page, test } from '@playwright/test';
import type { App, AppDetail, Page as List } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import { applyDisplaySettings } from '../fixtures/display-settings';
import { expectStable, recordLayoutShifts } from '../fixtures/layout-shift';
import { requireServer, respondInWallet } from './wallet';

/** Complete purchases against the real server, its sandbox ledger and its sandbox card processor. */

test.beforeEach(async ({ page }) => {
  requireServer();
  test.setTimeout(90_000);
  await applyDisplaySettings(page);
  await recordLayoutShifts(page);
});

const SETTLED = { timeout: 40_000 };
const pay = (page: Page) => page.locator('.checkout-pay button');

/** An app with unlimited stock, so that tests can be repeated on one server. */
async function paidApp(page: Page, index: number): Promise<AppDetail> {
  const response = await page.request.get('/api/apps?price=paid&pageSize=50&sort=name&livemode=false');
  const { list } = (await response.json()) as List<App>;
  const unlimited = list.filter((each) => each.title.en !== 'Compound Garden');
  const app = unlimited[index % unlimited.length];
  return (await page.request.get(`/api/apps/${app?.did}?livemode=false`)).json();
}

/** Opens the checkout of an app and signs in. */
async function toCheckout(page: Page, app: AppDetail): Promise<void> {
  await page.goto(`/apps/${app.did}`);
  await page
    .getByRole('link', { name: /^Buy for/ })
    .first()
    .click();
  await expect(page).toHaveURL(/\/checkout\/pay\/cs_/);
  await pay(page).click();
  await respondInWallet(page, [/^Sign in/, /^Sign in/]);
  await expect(page.getByLabel('Full name')).not.toHaveValue('', { timeout: 15_000 });
}

const DETAILS: Record<string, string> = {
  customer_phone: '415 555 2671',
  'billing_address.line1': 'Market Street 1',
  'billing_address.city': 'San Francisco',
  'billing_address.state': 'CA',
  'billing_address.postal_code': '94103',
};

/** Chooses a payment method and fills in the required fields. */
async function choose(page: Page, method: RegExp): Promise<void> {
  await page.getByRole('radio', { name: method }).check();
  const country = page.locator('[id="billing_address.country"]');
  if (await country.isVisible()) await country.selectOption('us');
  for (const [id, value] of Object.entries(DETAILS)) {
    const field = page.locator(`[id="${id}"]`);
    if (await field.isVisible()) await field.fill(value);
  }
}

async function fillCard(page: Page, number: string): Promise<void> {
  await page.locator('#card_number').fill(number);
  await page.locator('#card_expiry').fill('12 / 34');
  await page.locator('#card_cvc').fill('123');
  await page.getByRole('dialog').locator('button[type=submit]').click();
}

async function expectBought(page: Page, app: AppDetail): Promise<void> {
  await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible(SETTLED);
  const started = page.waitForEvent('download');
  await page.getByRole('link', { name: `Download ${app.title.en}` }).click();
  const path = await (await started).path();
  const latest = app.versions.find((each) => each.version === app.version);
  expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(latest?.sha256);
}

test('a visitor buys an app by wallet, then downloads it and opens the invoice', async ({ page }) => {
  const app = await paidApp(page, 0);
  await page.goto('/');
  await page.getByRole('textbox', { name: 'Search apps' }).fill(app.title.en);
  await page.getByRole('link', { name: app.title.en, exact: true }).first().click();
  await toCheckout(page, app);
  await expectStable(page);
  await expectAccessible(page);
  await choose(page, /from your wallet/);
  await pay(page).click();
  await respondInWallet(page, [/^Pay/]);
  await expectBought(page, app);
  await expect(
    page.getByText("This test store can't send email. You find your receipt on the invoice page."),
  ).toBeVisible();
  await expectStable(page);
  await expectAccessible(page);
  await page.getByRole('link', { name: 'View invoice' }).click();
  await expect(page).toHaveURL(/\/customer\/invoice\/in_/);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
});

test('a visitor buys an app by card after a decline and a failed challenge', async ({ page }) => {
  const app = await paidApp(page, 1);
  await toCheckout(page, app);
  await choose(page, /Card/);
  await pay(page).click();
  await fillCard(page, '4000 0000 0000 0002');
  await expect(page.getByRole('alert')).toContainText('Your card was declined');
  await fillCard(page, '4000 0025 0000 3155');
  await page.getByRole('button', { name: 'Fail' }).click();
  await expect(page.getByRole('alert')).toContainText('Verification failed');
  await fillCard(page, '4000 0025 0000 3155');
  await page.getByRole('button', { name: 'Complete' }).click();
  await expectBought(page, app);
});

test('a slow card payment completes', async ({ page }) => {
  const app = await paidApp(page, 2);
  await toCheckout(page, app);
  await choose(page, /Card/);
  await pay(page).click();
  await fillCard(page, '4000 0000 0000 0077');
  await expect(page.getByText(/Your bank is taking longer than usual/).first()).toBeVisible();
  await expectBought(page, app);
});

test('a late decline shows its reason, and another card can pay', async ({ page }) => {
  const app = await paidApp(page, 3);
  await toCheckout(page, app);
  await choose(page, /Card/);
  await pay(page).click();
  await fillCard(page, '4000 0000 0000 0341');
  await expect(page.getByTestId('paying')).toBeVisible();
  await expect(page.getByRole('alert')).toContainText('Payment not completed', SETTLED);
  await pay(page).click();
  await fillCard(page, '4242 4242 4242 4242');
  await expectBought(page, app);
});

test('a closed card form lets the buyer pay by wallet instead', async ({ page }) => {
  const app = await paidApp(page, 4);
  await toCheckout(page, app);
  await choose(page, /Card/);
  await pay(page).click();
  await page.getByRole('button', { name: 'Close' }).click();
  await choose(page, /from your wallet/);
  await pay(page).click();
  await respondInWallet(page, [/^Pay/]);
  await expectBought(page, app);
});

test('a payment declined in the wallet can be retried', async ({ page }) => {
  const app = await paidApp(page, 5);
  await toCheckout(page, app);
  await choose(page, /from your wallet/);
  await pay(page).click();
  await respondInWallet(page, [/^Decline/]);
  await expect(page.getByRole('alert')).toContainText('declined', { timeout: 15_000 });
  await page.getByRole('button', { name: 'Try again' }).click();
  await respondInWallet(page, [/^Pay/]);
  await expectBought(page, app);
});

test('a buyer who leaves during payment finds the order paid on return', async ({ page }) => {
  const app = await paidApp(page, 6);
  await toCheckout(page, app);
  await choose(page, /Card/);
  await pay(page).click();
  const url = page.url();
  // Leaving the page after the card was confirmed skips the page's own completion request.
  const confirmed = page.waitForResponse(/\/sandbox\/stripe\/v1\/payment_intents\/[^/]+\/confirm$/);
  await fillCard(page, '4242 4242 4242 4242');
  await confirmed;
  await page.goto('/');
  await page.goto(url);
  await expectBought(page, app);
});
