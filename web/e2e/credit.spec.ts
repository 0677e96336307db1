import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { type BillingState, NOW } from './fixtures/billing';
import { entitlements } from './fixtures/data';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { type ServerOptions, serve } from './fixtures/server';

async function openPage(page: Page, path: string, options: ServerOptions = {}, billing: Partial<BillingState> = {}) {
  await page.clock.setFixedTime(NOW * 1000);
  const recorded = await serve(page, { signedIn: true, billing, ...options });
  await page.goto(path);
  return recorded;
}

const dialog = (page: Page) => page.getByRole('dialog');
const balance = (page: Page) => page.getByRole('region', { name: 'Account balance' });

test.beforeEach(({ page }) => applyDisplaySettings(page));

test('a customer sees their balance by currency and its transactions', async ({ page }) => {
  await openPage(page, '/customer');
  await expect(balance(page)).toContainText('7 SKT');
  await expect(balance(page).getByRole('table', { name: 'Balance transactions' }).getByRole('row')).toHaveText([
    /Transaction.*Amount.*Balance/,
    /Applied to an invoice.*−3 SKT7 SKT/,
    /Credit note.*\+10 SKT10 SKT/,
  ]);
  await expect(balance(page).getByRole('button')).toHaveCount(0);
  await balance(page).getByRole('link', { name: 'Applied to an invoice' }).click();
  await expect(page).toHaveURL('/customer/invoice/in_change');
});

test('an account without a balance shows a message', async ({ page }) => {
  await openPage(page, '/customer', {}, { balances: [], transactions: [] });
  await expect(balance(page)).toContainText('No balance');
  await expect(balance(page).getByRole('table')).toHaveCount(0);
});

test('an administrator pays out a balance up to the limit', async ({ page }) => {
  const recorded = await openPage(page, '/console/customers/cus_1', { role: 'owner' });
  await expect(page.getByRole('heading', { level: 1, name: 'Mei Lin' })).toBeVisible();
  await balance(page).getByRole('button', { name: 'Pay out' }).click();
  const amount = dialog(page).getByLabel('Amount in SKT');
  await expect(amount).toHaveValue('5');
  await amount.fill('6');
  await dialog(page).getByRole('button', { name: 'Pay out', exact: true }).click();
  await expect(amount).toHaveAccessibleDescription(/At most 5 SKT can be paid out/);
  await amount.fill('4');
  await expectAccessible(page);
  await dialog(page).getByRole('button', { name: 'Pay out 4 SKT' }).click();
  await expect(dialog(page)).toHaveCount(0);
  const call = recorded.calls.find(({ path }) => path === '/customers/cus_1/balance/payout');
  expect(call?.body).toEqual({ currency_id: 'pc_skt', amount: '4' });
  await expect(balance(page)).toContainText('3 SKT');
});

test('a balance reserved for unpaid invoices cannot be paid out', async ({ page }) => {
  const [only] = (await import('./fixtures/billing')).balances;
  const reserved = only ? [{ ...only, payout_limit: '0' }] : [];
  await openPage(page, '/console/customers/cus_1', { role: 'owner' }, { balances: reserved });
  await expect(balance(page)).toContainText('Reserved for unpaid invoices');
  await expect(balance(page).getByRole('button', { name: 'Pay out' })).toHaveCount(0);
});

test('the credit notes of the store link to their invoices and customers', async ({ page }) => {
  await openPage(page, '/console/credit-notes', { role: 'admin' });
  const table = page.getByRole('table', { name: 'Credit notes' });
  await expect(table.getByRole('row')).toHaveCount(3);
  await expect(table.getByRole('link', { name: 'PDF of credit note SOUK-CN-000001' })).toBeVisible();
  await table.getByRole('link', { name: 'Mei Lin' }).first().click();
  await expect(page).toHaveURL('/console/customers/cus_1');
  await page.goBack();
  await table.getByRole('link', { name: 'SOUK-0105' }).first().click();
  await expect(page.getByRole('heading', { level: 1, name: 'Invoice SOUK-0105' })).toBeVisible();
});

test('the disputes of the store can be filtered to open ones', async ({ page }) => {
  const recorded = await openPage(page, '/console/disputes', { role: 'owner' });
  const table = page.getByRole('table', { name: 'Disputes' });
  await expect(table.getByRole('row').nth(1)).toContainText('Needs response');
  await expect(table.getByRole('link', { name: 'Mei Lin' })).toHaveAttribute('href', '/console/customers/cus_1');
  await page.getByText('Open', { exact: true }).click();
  await expect(page).toHaveURL('/console/disputes?open=true');
  await expect
    .poll(() => recorded.calls.some(({ path, query }) => path === '/disputes' && query.get('open') === 'true'))
    .toBe(true);
});

test('an administrator opens the lists from the navigation of the console', async ({ page }) => {
  await openPage(page, '/', { role: 'owner' });
  await page.getByRole('button', { name: 'Account of Mei Lin' }).click();
  await page.getByRole('menuitem', { name: 'Console' }).click();
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Disputes' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Disputes' })).toBeVisible();
});

for (const path of ['/console/credit-notes', '/console/disputes', '/console/customers/cus_1']) {
  test(`${path} is for administrators`, async ({ page }) => {
    await openPage(page, path);
    await expect(page.getByRole('heading', { level: 1, name: 'This page is for administrators' })).toBeVisible();
  });
}

test('refunded and disputed purchases show their status, and cannot be downloaded', async ({ page }) => {
  await serve(page, { signedIn: true });
  const [first, second] = entitlements;
  const list = [
    { ...first, status: 'revoked', revoked_at: '2026-11-19T08:00:00Z' },
    { ...second, status: 'suspended', suspended_at: '2026-11-19T08:00:00Z' },
  ];
  await page.route(/\/api\/entitlements\?/, (route) => route.fulfill({ json: { count: 2, list } }));
  await page.goto('/customer');
  const purchases = page.getByRole('region', { name: 'Purchases' });
  await expect(purchases).toContainText('Refunded');
  await expect(purchases).toContainText('Payment disputed');
  await expect(purchases.getByRole('link', { name: /^Download/ })).toHaveCount(0);
  for (const button of await purchases.getByRole('button', { name: /^Download/ }).all())
    await expect(button).toBeDisabled();
});

for (const display of displaySettings) {
  test(`balance, credit notes and disputes have no accessibility fault in ${display.locale}, ${display.scheme}`, async ({
    page,
  }) => {
    await applyDisplaySettings(page, display);
    const pages = ['/customer', '/console/credit-notes', '/console/disputes', '/console/customers/cus_1'];
    for (const path of pages) {
      await openPage(page, path, path.startsWith('/console') ? { role: 'owner' } : {});
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await page.waitForLoadState('networkidle');
      await expectAccessible(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(
        0,
      );
      if (process.env.SHOTS) {
        const name = `${path.replaceAll('/', '-').slice(1)}-${test.info().project.name}-${display.locale}-${display.scheme}`;
        await page.screenshot({ path: `${process.env.SHOTS}/${name}.png`, fullPage: true });
      }
    }
  });
}
