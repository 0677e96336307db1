import { expect, test } from '@playwright/test';
import { wear } from './fixtures/look';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => wear(page));

test('a visitor is asked to connect, and the address stays', async ({ page }) => {
  await serve(page);
  await page.goto('/customer');
  await expect(page.getByRole('dialog')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('heading', { level: 1, name: 'Connect to see this page' })).toBeVisible();
  await expect(page).toHaveURL('/customer');
});

test('a store that does not answer is not taken for a visitor who has not connected', async ({ page }) => {
  const failing: Record<string, number> = { '/session': 500 };
  await serve(page, { signedIn: true, failing });
  await page.goto('/customer');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    'It could not be found out whether you are signed in',
  );
  await expect(page.getByRole('dialog')).toHaveCount(0);
  delete failing['/session'];
  await page.getByRole('main').getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'My account' })).toBeVisible();
});

test('what was bought can be downloaded and leads to its invoice', async ({ page }) => {
  await serve(page, { signedIn: true });
  await page.goto('/customer');
  await expect(page.getByRole('link', { name: 'Download Lantern Notes 1.4.0' })).toHaveAttribute(
    'href',
    /\/1\.4\.0\/bundle/,
  );
  await page.getByRole('link', { name: 'Invoice for Lantern Notes' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Invoice SOUK-0012' })).toBeVisible();
});

test('on a wide page invoices are a table in pages, void ones struck through', async ({ page }, info) => {
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
  await page.getByRole('link', { name: 'Page 2' }).click();
  await expect(page).toHaveURL('/customer?page=2');
  await expect(table.getByRole('row')).toHaveCount(3);
  await page.getByRole('combobox', { name: 'Rows per page' }).selectOption('20');
  await expect(page).toHaveURL('/customer?pageSize=20');
  await expect(table.getByRole('row')).toHaveCount(13);
  await table.getByRole('row').nth(1).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Invoice SOUK-0012' })).toBeVisible();
});

test('on a phone invoices stand under their days, and more come on demand', async ({ page }, info) => {
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

test('payments say their state, and a failed one why', async ({ page }) => {
  await serve(page, { signedIn: true });
  await page.goto('/customer');
  const payments = page.getByRole('region', { name: 'Payments' });
  await expect(payments.getByRole('listitem')).toHaveCount(4);
  await expect(payments.getByRole('listitem').nth(2)).toContainText(
    'Last attempt: There was not enough in your wallet.',
  );
});

test('a payment that arrives from elsewhere is told, and the lists are asked again', async ({ page }) => {
  const seen = await serve(page, { signedIn: true, billing: {} });
  await page.goto('/customer');
  await expect(page.getByRole('heading', { level: 1, name: 'My account' })).toBeVisible();
  await expect.poll(() => Boolean(seen.tell)).toBe(true);
  const asked = () => seen.calls.filter(({ path }) => path === '/invoices').length;
  await expect.poll(asked).toBeGreaterThan(0);
  await page.waitForLoadState('networkidle');
  const before = asked();
  seen.tell?.('invoice.paid', { customer_id: 'cus_other', id: 'in_x' });
  seen.tell?.('invoice.paid', { customer_id: 'cus_1', id: 'in_due1' });
  const news = page.locator('.k-toast');
  await expect(news).toHaveText('Paid. Thank you.');
  // Nothing lies over it.
  await news.click({ trial: true });
  await expect(page.getByRole('status').filter({ hasText: 'Paid. Thank you.' })).toHaveCount(1);
  await expect.poll(asked).toBeGreaterThan(before);
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/paid-${test.info().project.name}.png` });
});

test('an empty portal says so and leads to the store', async ({ page }) => {
  await serve(page, { signedIn: true, empty: true });
  await page.goto('/customer');
  await expect(page.getByText('You have not bought anything yet.')).toBeVisible();
  await expect(page.getByText('There are no invoices.')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Browse the store' })).toBeVisible();
});

test('an invoice shows its lines, its method, its transaction, and a PDF in each language', async ({ page }) => {
  await serve(page, { signedIn: true });
  await page.goto('/customer/invoice/in_0Kq7Zt3');
  await expect(page.getByText('Nov 20, 2026, 09:30')).toBeVisible();
  await expect(page.getByRole('row', { name: 'Lantern Notes 1 5 SKT' })).toBeVisible();
  await expect(page.getByRole('link', { name: /^B3C0A1D2/ })).toHaveAttribute('href', /\/explorer\/txs\/B3C0A1D2/);
  await expect(page.getByRole('link', { name: 'PDF in English' })).toHaveAttribute('href', /\/pdf\?locale=en/);
  await expect(page.getByRole('link', { name: 'PDF in Chinese' })).toHaveAttribute('href', /\/pdf\?locale=zh/);
});

test("somebody else's invoice is not shown", async ({ page }) => {
  await serve(page, { signedIn: true, failing: { '/invoices/in_x': 403 } });
  await page.goto('/customer/invoice/in_x');
  await expect(page.getByRole('heading', { level: 1, name: 'This invoice does not exist' })).toBeVisible();
});

test('the profile checks on leaving a field, keeps what was typed, and shows what the server refuses on its field', async ({
  page,
}) => {
  const seen = await serve(page, { signedIn: true });
  await page.goto('/profile');
  const email = page.getByLabel('E-mail');
  await email.fill('mei@');
  await expect(page.getByRole('alert')).toHaveCount(0);
  await email.blur();
  await expect(email).toHaveAccessibleDescription('Enter an e-mail address such as name@example.com');
  await email.fill('mei@taken.example');
  await expect(page.getByRole('alert')).toHaveCount(0);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(email).toHaveAccessibleDescription('This address cannot be used');
  await expect(email).toBeFocused();
  await expect(email).toHaveValue('mei@taken.example');
  await email.fill('mei@new.example');
  await page.getByLabel('Country or region').selectOption({ label: 'Germany' });
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved.')).toBeVisible();
  const sent = seen.calls.filter(({ method }) => method === 'PUT').at(-1)?.body;
  expect(sent).toMatchObject({ name: 'Mei Lin', email: 'mei@new.example', address: { country: 'de' } });
});
