import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { type BillingState, NOW } from './fixtures/billing';
import { entitlements } from './fixtures/data';
import { looks, wear } from './fixtures/look';
import { type ServerOptions, serve } from './fixtures/server';

async function begin(page: Page, path: string, more: ServerOptions = {}, billing: Partial<BillingState> = {}) {
  await page.clock.setFixedTime(NOW * 1000);
  const seen = await serve(page, { signedIn: true, billing, ...more });
  await page.goto(path);
  return seen;
}

const dialog = (page: Page) => page.getByRole('dialog');
const balance = (page: Page) => page.getByRole('region', { name: 'Account balance' });

test.beforeEach(({ page }) => wear(page));

test('a customer sees their balance by currency and what changed it', async ({ page }) => {
  await begin(page, '/customer');
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

test('an account without a balance says so', async ({ page }) => {
  await begin(page, '/customer', {}, { balances: [], transactions: [] });
  await expect(balance(page)).toContainText('No balance');
  await expect(balance(page).getByRole('table')).toHaveCount(0);
});

test('an administrator pays a balance out, as far as no unpaid invoice needs it', async ({ page }) => {
  const seen = await begin(page, '/console/customers/cus_1', { role: 'owner' });
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
  const call = seen.calls.find(({ path }) => path === '/customers/cus_1/balance/payout');
  expect(call?.body).toEqual({ currency_id: 'pc_skt', amount: '4' });
  await expect(balance(page)).toContainText('3 SKT');
});

test('a balance that unpaid invoices need is not paid out', async ({ page }) => {
  const [only] = (await import('./fixtures/billing')).balances;
  const owed = only ? [{ ...only, payout_limit: '0' }] : [];
  await begin(page, '/console/customers/cus_1', { role: 'owner' }, { balances: owed });
  await expect(balance(page)).toContainText('Reserved for unpaid invoices');
  await expect(balance(page).getByRole('button', { name: 'Pay out' })).toHaveCount(0);
});

test('the credit notes of the store lead to their invoices and customers', async ({ page }) => {
  await begin(page, '/console/credit-notes', { role: 'admin' });
  const table = page.getByRole('table', { name: 'Credit notes' });
  await expect(table.getByRole('row')).toHaveCount(3);
  await expect(table.getByRole('link', { name: 'PDF of credit note SOUK-CN-000001' })).toBeVisible();
  await table.getByRole('link', { name: 'Open customer' }).first().click();
  await expect(page).toHaveURL('/console/customers/cus_1');
  await page.goBack();
  await table.getByRole('link', { name: 'SOUK-0105' }).first().click();
  await expect(page.getByRole('heading', { level: 1, name: 'Invoice SOUK-0105' })).toBeVisible();
});

test('the disputes of the store are listed, or the open ones alone', async ({ page }) => {
  const seen = await begin(page, '/console/disputes', { role: 'owner' });
  const table = page.getByRole('table', { name: 'Disputes' });
  await expect(table.getByRole('row').nth(1)).toContainText('Needs response');
  await page.getByText('Open', { exact: true }).click();
  await expect(page).toHaveURL('/console/disputes?open=true');
  await expect
    .poll(() => seen.calls.some(({ path, query }) => path === '/disputes' && query.get('open') === 'true'))
    .toBe(true);
});

test('an administrator opens the lists from the menu of the account', async ({ page }) => {
  await begin(page, '/', { role: 'owner' });
  await page.getByRole('button', { name: 'Account of Mei Lin' }).click();
  await page.getByRole('menuitem', { name: 'Disputes' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Disputes' })).toBeVisible();
});

for (const path of ['/console/credit-notes', '/console/disputes', '/console/customers/cus_1']) {
  test(`${path} is for administrators`, async ({ page }) => {
    await begin(page, path);
    await expect(page.getByRole('heading', { level: 1, name: 'This page is for administrators' })).toBeVisible();
  });
}

test('a refunded and a disputed purchase say so, and cannot be downloaded', async ({ page }) => {
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

for (const look of looks) {
  test(`balance, credit notes and disputes have no accessibility fault in ${look.locale}, ${look.scheme}`, async ({
    page,
  }) => {
    await wear(page, look);
    const pages = ['/customer', '/console/credit-notes', '/console/disputes', '/console/customers/cus_1'];
    for (const path of pages) {
      await begin(page, path, path.startsWith('/console') ? { role: 'owner' } : {});
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await page.waitForLoadState('networkidle');
      await expectAccessible(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(
        0,
      );
      if (process.env.SHOTS) {
        const name = `${path.replaceAll('/', '-').slice(1)}-${test.info().project.name}-${look.locale}-${look.scheme}`;
        await page.screenshot({ path: `${process.env.SHOTS}/${name}.png`, fullPage: true });
      }
    }
  });
}
