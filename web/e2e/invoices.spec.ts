import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { type BillingState, NOW } from './fixtures/billing';
import { looks, wear } from './fixtures/look';
import { type Seen, type ServerOptions, serve } from './fixtures/server';

async function begin(page: Page, path: string, more: ServerOptions = {}, billing: Partial<BillingState> = {}) {
  await page.clock.setFixedTime(NOW * 1000);
  const seen = await serve(page, { signedIn: true, billing, ...more });
  await page.goto(path);
  return seen;
}

const paid = '/customer/invoice/in_0Kq7Zt3';
const paidInConsole = '/console/invoices/in_0Kq7Zt3';
const dialog = (page: Page) => page.getByRole('dialog');
const refundCalls = (seen: Seen) => seen.calls.filter(({ method, path }) => method === 'POST' && path === '/refunds');

test.beforeEach(({ page }) => wear(page));

test('unused time is negative, and the balance is below the subtotal', async ({ page }) => {
  await begin(page, '/customer/invoice/in_change');
  const table = page.getByRole('table', { name: 'Invoice items' });
  await expect(table.getByRole('row')).toHaveText([
    /^Item/,
    /^Unused time on Chorus Pro.*−5 SKT$/,
    /^Chorus Pro, by the year.*48 SKT$/,
    'Subtotal43 SKT',
    'Account balance−3 SKT',
    'Total40 SKT',
    'Amount paid40 SKT',
  ]);
});

test.describe('a refund', () => {
  test('is for administrators, and for paid invoices', async ({ page }) => {
    await begin(page, paid);
    await expect(page.getByRole('link', { name: 'PDF in English' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Refund', exact: true })).toHaveCount(0);
    await begin(page, '/console/invoices/in_due1', { role: 'owner' });
    await expect(page.getByRole('link', { name: 'PDF in English' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Refund', exact: true })).toHaveCount(0);
  });

  test('asks how much and why, and stands on the invoice then', async ({ page }) => {
    const seen = await begin(page, paidInConsole, { role: 'admin' });
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    await expect(dialog(page)).toContainText('The refund goes to the original payment method');
    const amount = dialog(page).getByLabel('Amount in SKT');
    await expect(amount).toHaveValue('3');
    await amount.fill('3.5');
    await dialog(page).getByRole('button', { name: 'Refund', exact: true }).click();
    await expect(amount).toHaveAccessibleDescription(/At most 3 SKT can be refunded/);
    await expect(amount).toBeFocused();
    expect(refundCalls(seen)).toHaveLength(0);
    await amount.fill('2');
    await dialog(page).getByRole('radio', { name: 'Duplicate payment' }).check();
    await dialog(page).getByLabel(/^Note/).fill('Sorry for the trouble');
    await expectAccessible(page);
    await dialog(page).getByRole('button', { name: 'Refund 2 SKT' }).click();
    await expect(dialog(page)).toHaveCount(0);
    expect(refundCalls(seen).map(({ body }) => body)).toEqual([
      {
        payment_intent_id: 'pi_0',
        invoice_id: 'in_0Kq7Zt3',
        amount: '2',
        reason: 'duplicate',
        description: 'Sorry for the trouble',
      },
    ]);
    const refunds = page.getByRole('region', { name: 'Refunds' }).getByRole('row');
    await expect(refunds.first()).toContainText('2 SKT');
    await expect(refunds.first()).toContainText('Sorry for the trouble');
    await expect(refunds.first()).toContainText('Pending');
  });

  test('names the part that was added to the balance and cannot be refunded', async ({ page }) => {
    await begin(page, '/console/invoices/in_change', { role: 'owner' });
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    const amount = dialog(page).getByLabel('Amount in SKT');
    await expect(amount).toHaveValue('31');
    const kept = "12 SKT cannot be refunded: it was added to the customer's balance or has paid other invoices.";
    await expect(amount).toHaveAccessibleDescription(`Up to 31 SKT. ${kept}`);
  });

  test('is not offered if all of it was added to the balance', async ({ page }) => {
    const [three, none] = ['3000000000000000000', '0'];
    await begin(page, paidInConsole, { role: 'owner' }, { refundable: { in_0Kq7Zt3: { amount: none, left: three } } });
    await expect(page.getByText('3 SKT cannot be refunded')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Refund', exact: true })).toHaveCount(0);
  });

  test('that is refused says why, in the dialog', async ({ page }) => {
    await begin(page, paidInConsole, { role: 'owner' });
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    await dialog(page).getByLabel(/^Note/).fill('too late');
    await dialog(page).getByRole('button', { name: 'Refund 3 SKT' }).click();
    const alert = dialog(page).getByRole('alert');
    await expect(alert).toContainText('The refund failed');
    await expect(alert).toContainText('There is no payment that could be given back');
    await expect(alert).toBeFocused();
  });
});

test.describe('an unpaid invoice whose payment fails', () => {
  for (const [action, title] of [
    ['pay', 'The invoice could not be paid'],
    ['renew', 'The subscription could not be renewed'],
  ] as const) {
    test(`says "${title}" where it was opened to ${action}`, async ({ page }) => {
      await begin(page, `/customer/invoice/in_due1?action=${action}`, {}, { wallet: 'declines' });
      await page.getByRole('button', { name: 'Pay 5 SKT' }).click();
      await expect(dialog(page).getByRole('alert')).toContainText(title, { timeout: 8000 });
    });
  }
});

for (const look of looks) {
  test(`invoices and refunds have no accessibility fault in ${look.locale}, ${look.scheme}`, async ({ page }) => {
    await wear(page, look);
    await begin(page, '/console/invoices/in_change', { role: 'owner' });
    await expect(page.getByRole('table', { name: /^(Invoice items|账单明细)$/ })).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /^(Refund|退款)$/ }).click();
    await expect(dialog(page)).toBeVisible();
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
    if (process.env.SHOTS) {
      const name = `${process.env.SHOTS}/refund-${test.info().project.name}-${look.locale}-${look.scheme}`;
      await page.screenshot({ path: `${name}-dialog.png` });
      await page.keyboard.press('Escape');
      await page.screenshot({ path: `${name}.png`, fullPage: true });
    }
  });
}
