import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { type BillingState, NOW, refund } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { type Recorded, type ServerOptions, serve } from './fixtures/server';

async function openPage(page: Page, path: string, options: ServerOptions = {}, billing: Partial<BillingState> = {}) {
  await page.clock.setFixedTime(NOW * 1000);
  const recorded = await serve(page, { signedIn: true, billing, ...options });
  await page.goto(path);
  return recorded;
}

const paid = '/customer/invoice/in_0Kq7Zt3';
const paidInConsole = '/console/invoices/in_0Kq7Zt3';
const dialog = (page: Page) => page.getByRole('dialog');
const noteCalls = (recorded: Recorded) =>
  recorded.calls.filter(({ method, path }) => method === 'POST' && path === '/credit-notes');
const preview = (page: Page) => dialog(page).getByRole('region', { name: 'Preview' });
const section = (page: Page, name: string) => page.getByRole('region', { name });

test.beforeEach(({ page }) => applyDisplaySettings(page));

test('an invoice shows its lines, total and payments', async ({ page }) => {
  await openPage(page, '/customer/invoice/in_change');
  await expect(page.getByRole('table', { name: 'Invoice items' }).getByRole('row')).toHaveText([
    /^Item/,
    /^Remaining time on Chorus Pro, by the year.*48 SKT × 30\/30 days.*48 SKT$/,
    'Total48 SKT',
    'Paid from account balance−3 SKT',
    'Amount paid45 SKT',
  ]);
  const payments = section(page, 'Payments for this invoice').getByRole('row');
  await expect(payments).toHaveText([/^Account balance.*3 SKT$/, /^Wallet \(ArcBlock\).*45 SKT$/]);
});

test('a partly credited, refunded and disputed invoice shows the amount due', async ({ page }) => {
  await openPage(page, '/customer/invoice/in_credited');
  const rows = page.getByRole('table', { name: 'Invoice items' }).getByRole('row');
  await expect(rows.nth(1)).toContainText('Credited: 3 SKT for the time from Nov 20, 2026');
  await expect(rows).toHaveText([
    /^Item/,
    /^Chorus Pro/,
    'Total10 SKT',
    'Credit notes−1 SKT',
    'Paid from account balance−1 SKT',
    'Amount paid−6 SKT',
    'Refunded2 SKT',
    'Amount due2 SKT',
  ]);
  const payments = section(page, 'Payments for this invoice').getByRole('row');
  await expect(payments.last()).toContainText('Refund of 2 SKT');
  await expect(payments.last()).toContainText('Disputed: 1 SKT');
  await expect(payments.last()).toContainText('Reversed: 2 SKT');
  const notes = section(page, 'Credit notes').getByRole('row');
  await expect(notes).toHaveText([
    /SOUK-CN-000002.*Cancellation.*Sorry for the outage.*Refund of 2 SKT/,
    /SOUK-CN-000001.*Plan change.*1 SKT taken off the amount due/,
  ]);
  await expect(page.getByRole('link', { name: 'PDF of credit note SOUK-CN-000002' })).toHaveAttribute(
    'href',
    /\/api\/credit-notes\/cn_2\/pdf\?locale=en/,
  );
  await expect(page.getByRole('button', { name: 'Pay 2 SKT' })).toBeVisible();
  await expect(section(page, 'Disputes')).toHaveCount(0);
});

test('the disputes of an invoice are for administrators', async ({ page }) => {
  await openPage(page, '/console/invoices/in_credited', { role: 'owner' });
  const row = section(page, 'Disputes').getByRole('row');
  await expect(row).toContainText('Product not received');
  await expect(row).toContainText('Needs response');
  await expect(row).toContainText('Respond by Nov 27, 2026');
  await expect(row).toContainText('Dispute fee: $15.00');
  await expect(page.getByRole('button', { name: 'Refund', exact: true })).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Credit note', exact: true })).toBeVisible();
});

test('an invoice in the console leads to its customer', async ({ page }) => {
  await openPage(page, paidInConsole, { role: 'owner' });
  await expect(page.getByRole('link', { name: 'Mei Lin' })).toHaveAttribute('href', '/console/customers/cus_1');
  await expect(page.getByRole('link', { name: 'Open customer' })).toHaveAttribute('href', '/console/customers/cus_1');
});

test.describe('a refund', () => {
  test('is for administrators, and for paid invoices', async ({ page }) => {
    await openPage(page, paid);
    await expect(page.getByRole('link', { name: 'PDF in English' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Refund', exact: true })).toHaveCount(0);
    await openPage(page, '/console/invoices/in_due1', { role: 'owner' });
    await expect(page.getByRole('link', { name: 'PDF in English' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Refund', exact: true })).toHaveCount(0);
  });

  test('has an amount and a reason, previews the result, and is listed on the invoice', async ({ page }) => {
    const recorded = await openPage(page, paidInConsole, { role: 'admin' });
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    await expect(dialog(page)).toContainText('Refunds go back to the payments of the invoice');
    const amount = dialog(page).getByLabel('Amount in SKT');
    await expect(amount).toHaveValue('3');
    await expect(preview(page)).toContainText('Refunded to the original payments3 SKT');
    await expect(preview(page)).toContainText('AccessEnds');
    await amount.fill('3.5');
    await dialog(page).getByRole('button', { name: 'Refund', exact: true }).click();
    await expect(amount).toHaveAccessibleDescription(/At most 3 SKT can be refunded/);
    await expect(amount).toBeFocused();
    expect(noteCalls(recorded)).toHaveLength(0);
    await amount.fill('2');
    await expect(preview(page)).toContainText('AccessNot affected');
    await dialog(page).getByRole('radio', { name: 'Duplicate payment' }).check();
    await dialog(page).getByLabel(/^Note/).fill('Sorry for the trouble');
    await expectAccessible(page);
    await dialog(page).getByRole('button', { name: 'Refund 2 SKT' }).click();
    await expect(dialog(page)).toHaveCount(0);
    expect(noteCalls(recorded).map(({ body }) => body)).toEqual([
      {
        invoice_id: 'in_0Kq7Zt3',
        items: [{ invoice_item_id: 'ii_0', amount: '2', revokes: false }],
        reason: 'duplicate',
        to: 'refund',
        memo: 'Sorry for the trouble',
      },
    ]);
    const refunds = section(page, 'Refunds').getByRole('row');
    await expect(refunds.first()).toContainText('2 SKT');
    await expect(refunds.first()).toContainText('Sorry for the trouble');
    await expect(refunds.first()).toContainText('Pending');
  });

  test('asks an administrator to sign in again and then continues', async ({ page }) => {
    const recorded = await openPage(page, paidInConsole, { role: 'admin', needSignIn: ['POST /credit-notes'] });
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    await dialog(page).getByLabel('Amount in SKT').fill('2');
    await dialog(page).getByRole('button', { name: 'Refund 2 SKT' }).click();
    const notice = dialog(page).getByRole('alert').filter({ hasText: 'Please sign in again' });
    await expect(notice).toBeVisible();
    await expectAccessible(page);
    await notice.getByRole('button', { name: 'Sign in and continue' }).click();
    await expect(dialog(page)).toHaveCount(0);
    expect(noteCalls(recorded)).toHaveLength(2);
    await expect(section(page, 'Refunds').getByRole('row').first()).toContainText('2 SKT');
  });

  test('of the full amount can keep the customer’s access', async ({ page }) => {
    const recorded = await openPage(page, paidInConsole, { role: 'owner' });
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    const keepAccess = dialog(page).getByRole('checkbox', { name: /^Keep access/ });
    await dialog(page).getByLabel('Amount in SKT').fill('2');
    await expect(keepAccess).toBeDisabled();
    await expect(dialog(page)).toContainText('Only available if access would end.');
    await dialog(page).getByLabel('Amount in SKT').fill('3');
    await keepAccess.check();
    await expect(preview(page)).toContainText('AccessKept, as you chose');
    await dialog(page).getByRole('button', { name: 'Refund 3 SKT' }).click();
    await expect(dialog(page)).toHaveCount(0);
    expect(noteCalls(recorded)[0]?.body).toMatchObject({ items: [{ amount: '3', revokes: false }] });
  });

  test('shows an error with a retry if the refundable amount fails to load', async ({ page }) => {
    const failing: Record<string, number> = { '/refunds/preview': 500 };
    await openPage(page, paidInConsole, { role: 'owner', failing });
    const error = page.getByRole('alert').filter({ hasText: "The refundable amount couldn't be loaded" });
    await expect(error).toBeVisible();
    await expectAccessible(page);
    delete failing['/refunds/preview'];
    await error.getByRole('button', { name: 'Try again' }).click();
    await expect(page.getByRole('button', { name: 'Refund', exact: true })).toBeVisible();
  });

  test('is not offered if nothing is refundable', async ({ page }) => {
    await openPage(
      page,
      paidInConsole,
      { role: 'owner' },
      { refundable: { in_0Kq7Zt3: { amount: '0', to_balance: '0' } } },
    );
    await expect(page.getByRole('button', { name: 'Credit note', exact: true })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Refund', exact: true })).toHaveCount(0);
  });

  test('that failed is retried or added to the balance', async ({ page }) => {
    const failure = { code: 'expired_or_canceled_card', message: '' };
    const failed = { ...refund, status: 'failed' as const, failure };
    const recorded = await openPage(page, paidInConsole, { role: 'owner' }, { refunds: [failed] });
    const row = section(page, 'Refunds').getByRole('row');
    await expect(row).toContainText('Failed');
    await expect(row).toContainText('The card has expired or was canceled.');
    // Until the money is back, the invoice is not called refunded.
    await expect(page.locator('header').getByText('Refund failed', { exact: true })).toBeVisible();
    await expect(page.getByText('Refunded', { exact: true })).toHaveCount(0);
    await row.getByRole('button', { name: 'Move to balance' }).click();
    await expect(dialog(page)).toContainText("2 SKT will be moved to the customer's balance");
    await expectAccessible(page);
    await dialog(page).getByRole('button', { name: 'Move to balance' }).click();
    await expect(row).toContainText('Moved to balance');
    expect(recorded.calls.some(({ path }) => path === '/refunds/re_1/move-to-balance')).toBe(true);
    await openPage(page, paidInConsole, { role: 'owner' }, { refunds: [failed] });
    await row.getByRole('button', { name: 'Retry refund' }).click();
    await dialog(page).getByRole('button', { name: 'Retry refund' }).click();
    await expect(row).toContainText('Pending');
    await openPage(page, paid, {}, { refunds: [failed] });
    await expect(row).toContainText("The refund didn't go through.");
    await expect(row.getByRole('button')).toHaveCount(0);
    await openPage(page, '/customer', {}, { refunds: [failed] });
    await expect(page.getByText('Refund failed', { exact: true })).toBeVisible();
    await expect(page.getByText('Partially refunded', { exact: true })).toHaveCount(0);
  });

  test('that is rejected shows the reason in the dialog', async ({ page }) => {
    await openPage(page, paidInConsole, { role: 'owner' });
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    await dialog(page).getByLabel(/^Note/).fill('too late');
    await dialog(page).getByRole('button', { name: 'Refund 3 SKT' }).click();
    const alert = dialog(page).getByRole('alert');
    await expect(alert).toContainText('The refund failed');
    await expect(alert).toContainText('There is nothing to refund.');
    await expect(alert).toBeFocused();
  });
});

test.describe('a credit note', () => {
  test('is issued by items, the unpaid part first', async ({ page }) => {
    const recorded = await openPage(page, '/console/invoices/in_credited', { role: 'owner' });
    await page.getByRole('button', { name: 'Credit note', exact: true }).click();
    await dialog(page).getByRole('button', { name: 'Issue credit note' }).click();
    await expect(dialog(page).getByRole('alert')).toContainText('Enter an amount for at least one item.');
    const amount = dialog(page).getByLabel('Chorus Pro (amount in SKT)');
    await amount.fill('8');
    await dialog(page).getByRole('button', { name: 'Issue credit note' }).click();
    await expect(amount).toHaveAccessibleDescription(/At most 7 SKT can be credited/);
    await dialog(page).getByRole('button', { name: 'Credit everything' }).click();
    await expect(amount).toHaveValue('7');
    await amount.fill('4');
    await dialog(page).getByRole('radio', { name: "Customer's account balance" }).check();
    await expect(preview(page)).toContainText('Taken off the amount due2 SKT');
    await expect(preview(page)).toContainText('Added to the account balance2 SKT');
    await expectAccessible(page);
    await dialog(page).getByRole('button', { name: 'Credit 4 SKT' }).click();
    await expect(dialog(page)).toHaveCount(0);
    await expect(page.locator('#announcer')).toHaveText('Credit note SOUK-CN-000003 issued.');
    expect(noteCalls(recorded).map(({ body }) => body)).toEqual([
      {
        invoice_id: 'in_credited',
        items: [{ invoice_item_id: 'ii_credited', amount: '4', revokes: false }],
        reason: 'other',
        to: 'balance',
      },
    ]);
  });

  test('is not offered for a deposit, nor to customers', async ({ page }) => {
    await openPage(page, '/console/invoices/in_sub_active_7', { role: 'owner' });
    await expect(page.getByRole('link', { name: 'PDF in English' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Credit note', exact: true })).toHaveCount(0);
    await openPage(page, '/customer/invoice/in_credited');
    await expect(page.getByRole('link', { name: 'PDF in English' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Credit note', exact: true })).toHaveCount(0);
  });
});

test.describe('an unpaid invoice whose payment fails', () => {
  for (const [action, title] of [
    ['pay', "The invoice couldn't be paid"],
    ['renew', "The subscription couldn't be renewed"],
  ] as const) {
    test(`shows "${title}" if it was opened to ${action}`, async ({ page }) => {
      await openPage(page, `/customer/invoice/in_due1?action=${action}`, {}, { wallet: 'declines' });
      await page.getByRole('button', { name: 'Pay 5 SKT' }).click();
      await expect(dialog(page).getByRole('alert')).toContainText(title, { timeout: 8000 });
    });
  }
});

for (const display of displaySettings) {
  test(`invoices and refunds have no accessibility fault in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await openPage(page, '/console/invoices/in_credited', { role: 'owner' });
    await expect(page.getByRole('table', { name: /^(Invoice items|账单明细)$/ })).toBeVisible();
    await expectAccessible(page);
    if (process.env.SHOTS) {
      const name = `${process.env.SHOTS}/credited-${test.info().project.name}-${display.locale}-${display.scheme}`;
      await page.screenshot({ path: `${name}.png`, fullPage: true });
    }
    await openPage(page, '/console/invoices/in_change', { role: 'owner' });
    await page.getByRole('button', { name: /^(Refund|退款)$/ }).click();
    await expect(dialog(page)).toBeVisible();
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
    if (process.env.SHOTS) {
      const name = `${process.env.SHOTS}/refund-${test.info().project.name}-${display.locale}-${display.scheme}`;
      await page.screenshot({ path: `${name}-dialog.png` });
      await page.keyboard.press('Escape');
      await page.screenshot({ path: `${name}.png`, fullPage: true });
    }
  });
}
