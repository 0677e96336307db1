import { expect, test } from '@playwright/test';
import { entitlements } from './fixtures/data';
import { delayResponse } from './fixtures/delay-response';
import { applyDisplaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => applyDisplaySettings(page));

test('a visitor is asked to sign in, and the URL stays', async ({ page }) => {
  await serve(page);
  await page.goto('/customer');
  await expect(page.getByRole('dialog')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('heading', { level: 1, name: 'Sign in to see this page' })).toBeVisible();
  await expect(page).toHaveURL('/customer');
});

test('a failed session request does not count as signed out', async ({ page }) => {
  const failing: Record<string, number> = { '/session': 500 };
  await serve(page, { signedIn: true, failing });
  await page.goto('/customer');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText("We couldn't check whether you're signed in");
  await expect(page.getByRole('dialog')).toHaveCount(0);
  delete failing['/session'];
  await page.getByRole('main').getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'My account' })).toBeVisible();
});

test('a purchase can be downloaded and links to its invoice', async ({ page }) => {
  await serve(page, { signedIn: true });
  await page.goto('/customer');
  await expect(page.getByRole('link', { name: 'Download Lantern Notes 1.4.0' })).toHaveAttribute(
    'href',
    /\/1\.4\.0\/bundle/,
  );
  await page.getByRole('link', { name: 'Invoice for Lantern Notes' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Invoice SOUK-0012' })).toBeVisible();
});

test('on a wide page invoices are a paginated table, with void ones struck through', async ({ page }, info) => {
  test.skip(info.project.name === 'phone', 'a phone has the list');
  await serve(page, { signedIn: true });
  await page.goto('/customer');
  const table = page.getByRole('table', { name: 'Invoices' });
  await expect(table.getByRole('columnheader')).toHaveText([
    'Amount',
    'Type',
    'Number',
    'Date',
    'Description',
    'Status',
  ]);
  await expect(table.getByRole('row')).toHaveCount(11);
  const voided = table.getByRole('row').filter({ hasText: 'Void' });
  await expect(voided.locator('s')).toHaveText('$4.99');
  await expect(voided).toContainText('No payment is required for this invoice.');
  await page.getByRole('listitem', { name: '2' }).click();
  await expect(page).toHaveURL('/customer?page=2');
  await expect(table.getByRole('row')).toHaveCount(3);
  await page.getByRole('combobox', { name: 'Rows per page' }).click();
  await page.locator('.ant-select-item-option[title="20 / page"]').click();
  await expect(page).toHaveURL('/customer?pageSize=20');
  await expect(table.getByRole('row')).toHaveCount(13);
  await table.getByRole('row').nth(1).getByRole('cell').first().click();
  await expect(page.getByRole('heading', { level: 1, name: 'Invoice SOUK-0012' })).toBeVisible();
});

test('on a phone invoices are grouped by day and loaded on demand', async ({ page }, info) => {
  test.skip(info.project.name !== 'phone', 'a wide page has the table');
  await serve(page, { signedIn: true });
  await page.goto('/customer');
  await expect(page.getByRole('region', { name: 'Invoices' }).getByRole('heading', { level: 3 }).first()).toHaveText(
    'Nov 20, 2026',
  );
  await expect(page.getByText('5 of 12')).toBeVisible();
  await page.getByRole('button', { name: 'Show more' }).last().click();
  await expect(page.getByText('10 of 12')).toBeVisible();
});

test('payments show their state, and the reason of a failure', async ({ page }) => {
  await serve(page, { signedIn: true });
  await page.goto('/customer');
  const payments = page.getByRole('region', { name: 'Payments' });
  await expect(payments.getByRole('row')).toHaveCount(4);
  await expect(payments.getByRole('row').nth(2)).toContainText('Reason: Your wallet has insufficient funds.');
});

test('a failed attempt requires action only while its invoice is unpaid', async ({ page }) => {
  await serve(page, { signedIn: true });
  const attempt = (id: string, invoice_status: string) => ({
    id,
    status: 'requires_action',
    amount: '500',
    description: `Attempt ${id}`,
    created_at: '2026-11-19T10:00:00Z',
    invoice_id: `in_${id}`,
    invoice_status,
    last_payment_error: { code: 'authentication_required', message: '' },
    paymentCurrency: { id: 'pc_usd', symbol: 'USD', decimal: 2 },
    paymentMethod: { id: 'pm_card', type: 'stripe', name: 'Card' },
  });
  const list = [attempt('settled', 'paid'), attempt('open', 'uncollectible')];
  await page.route(/\/api\/payment-intents\?/, (route) => route.fulfill({ json: { count: 2, list } }));
  await page.goto('/customer');
  await expect(page.getByRole('table', { name: 'Action required' }).getByRole('row')).toHaveText([/Attempt open/]);
  const history = page.getByRole('table', { name: 'History' });
  await expect(history.getByRole('row')).toHaveText([/Attempt settled.*Failed/]);
  await expect(history).not.toContainText('Action required');
});

test('an app is listed once, with the purchase and the subscription that grant it', async ({ page }) => {
  await serve(page, { signedIn: true, billing: {} });
  const [first] = entitlements;
  const bySubscription = { ...first, id: 'ent_2', subscription_id: 'sub_active', invoice_id: null };
  await page.route(/\/api\/entitlements\?/, (route) =>
    route.fulfill({ json: { count: 2, list: [first, bySubscription] } }),
  );
  await page.goto('/customer');
  const purchases = page.getByRole('region', { name: 'Purchases' });
  await expect(purchases.getByRole('heading', { level: 3 })).toHaveText(['Lantern Notes']);
  await expect(purchases.getByRole('link', { name: /^Download/ })).toHaveCount(1);
  await expect(purchases.getByRole('list', { name: 'How you got Lantern Notes' }).getByRole('listitem')).toHaveText([
    /^Bought on .*Invoice$/,
    'Included in Chorus ProManage',
  ]);
  await purchases.getByRole('link', { name: 'Manage Chorus Pro' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Chorus Pro' })).toBeVisible();
});

test('a payment made elsewhere shows a message and reloads the lists', async ({ page }) => {
  const recorded = await serve(page, { signedIn: true, billing: {} });
  await page.goto('/customer');
  await expect(page.getByRole('heading', { level: 1, name: 'My account' })).toBeVisible();
  await expect.poll(() => Boolean(recorded.emitEvent)).toBe(true);
  const invoiceRequests = () => recorded.calls.filter(({ path }) => path === '/invoices').length;
  await expect.poll(invoiceRequests).toBeGreaterThan(0);
  await page.waitForLoadState('networkidle');
  const before = invoiceRequests();
  recorded.emitEvent?.('invoice.paid', { customer_id: 'cus_other', id: 'in_x' });
  recorded.emitEvent?.('invoice.paid', { customer_id: 'cus_1', id: 'in_due1' });
  const toast = page.getByRole('alert').filter({ hasText: 'Payment successful' });
  await expect(toast).toHaveCount(1);
  // Nothing covers the message.
  await toast.click({ trial: true });
  await expect.poll(invoiceRequests).toBeGreaterThan(before);
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/paid-${test.info().project.name}.png` });
});

test('an empty portal shows a message and links to the store', async ({ page }) => {
  await serve(page, { signedIn: true, empty: true });
  await page.goto('/customer');
  await expect(page.getByText("You haven't bought any apps yet.")).toBeVisible();
  await expect(page.getByText('No invoices yet.')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Browse the store' })).toBeVisible();
});

test('an invoice shows its lines, its method, its transaction, and a PDF in each language', async ({ page }) => {
  await serve(page, { signedIn: true });
  await page.goto('/customer/invoice/in_0Kq7Zt3');
  await expect(page.getByText('Nov 20, 2026, 9:30').first()).toBeVisible();
  await expect(page.getByRole('row', { name: /^Lantern Notes .*1 5 SKT$/ })).toBeVisible();
  await expect(page.getByRole('link', { name: /^B3C0A1D2/ })).toHaveAttribute('href', /\/explorer\/txs\/B3C0A1D2/);
  await expect(page.getByRole('link', { name: 'PDF in English' })).toHaveAttribute('href', /\/pdf\?locale=en/);
  await expect(page.getByRole('link', { name: 'PDF in Chinese' })).toHaveAttribute('href', /\/pdf\?locale=zh/);
});

test("another customer's invoice is not shown", async ({ page }) => {
  await serve(page, { signedIn: true, failing: { '/invoices/in_x': 403 } });
  await page.goto('/customer/invoice/in_x');
  await expect(page.getByRole('heading', { level: 1, name: 'This invoice does not exist' })).toBeVisible();
});

test('the profile validates on blur, keeps the values, and shows server errors on their fields', async ({ page }) => {
  const recorded = await serve(page, { signedIn: true });
  await page.goto('/profile');
  const email = page.getByLabel('Email');
  await email.fill('mei@');
  await expect(page.getByRole('alert')).toHaveCount(0);
  await email.blur();
  await expect(email).toHaveAccessibleDescription('Enter a valid email address, like name@example.com');
  await email.fill('mei@taken.example');
  await expect(page.getByRole('alert')).toHaveCount(0);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(email).toHaveAccessibleDescription('Enter a valid email address, like name@example.com');
  await expect(email).toBeFocused();
  await expect(email).toHaveValue('mei@taken.example');
  await email.fill('mei@new.example');
  await page.getByLabel('Country or region (optional)').fill('Germ');
  await page.getByTitle('Germany').click();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved.')).toBeVisible();
  const sent = recorded.calls.filter(({ method }) => method === 'PUT').at(-1)?.body;
  expect(sent).toMatchObject({ name: 'Mei Lin', email: 'mei@new.example', address: { country: 'de' } });
});

for (const { path, name, late, role } of [
  { path: '/console/customers/cus_1', name: 'Mei Lin', late: /balance-transactions\?/, role: 'owner' },
  { path: '/console/customers/cus_1', name: 'Mei Lin', late: /\/api\/subscriptions\?/, role: 'owner' },
  { path: '/profile', name: 'Profile', late: /\/api\/customers\/me\?/, role: undefined },
] as const)
  test(`${path} appears with its data, even if ${late.source} is late`, async ({ page }) => {
    await serve(page, { signedIn: true, role, billing: {} });
    const release = await delayResponse(page, late);
    const request = page.waitForRequest(late);
    await page.goto(path);
    await request;
    await expect(page.getByRole('heading', { level: 1, name })).toHaveCount(0);
    release();
    await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
    await expect(page.getByRole('main').locator('[aria-busy="true"]')).toHaveCount(0);
  });
