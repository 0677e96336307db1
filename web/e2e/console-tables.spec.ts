import { expect, type Locator, type Page, test } from '@playwright/test';
import { type BillingState, dispute, NOW, stakes, subscription } from './fixtures/billing';
import { accessToken } from './fixtures/data';
import { applyDisplaySettings } from './fixtures/display-settings';
import { forfeited, found, less, longAddress, more, refunded, returned } from './fixtures/on-hold';
import { versionsOf } from './fixtures/reviews';
import { serve } from './fixtures/server';

const customer = longAddress;
const billing: Partial<BillingState> = {
  stakes: stakes.map((stake) => ({ ...stake, customer, failure: { code: 'INSUFFICIENT_GAS', message: '' } })),
  disputes: [{ ...dispute, customer }],
  subscriptions: [
    subscription({ customer, on_hold: true, on_hold_reason: 'unbilled_periods', unbilled_periods: 12 }),
    subscription({ id: 'sub_2', on_hold: true, on_hold_reason: 'currency_not_configured' }),
  ],
  paymentsOnHold: [more, less],
  transfersOnHold: [returned, forfeited, refunded],
  foundPayments: found,
  accessTokens: [accessToken({ apps: ['z8iZpA529j4Jk1iA2A9cDqnPcVMpT6qWqAvmN'] })],
};

const TABLES: Record<string, string[]> = {
  '/console/developers': ['Developers', 'Invitations'],
  '/console/reviews': ['Reviews'],
  '/console/credit-notes': ['Credit notes'],
  '/console/disputes': ['Disputes'],
  '/console/on-hold': [
    'Billing on hold',
    'Payments on hold',
    'Refunds and deposits on hold',
    'Payments found after the restore',
  ],
  '/console/stakes': ['Deposits'],
  '/console/audit-log': ['Audit log'],
  '/console/customers/cus_1': ['Invoices'],
  '/developer/access-tokens': ['Access tokens'],
};

async function open(page: Page, path: string, role: 'owner' | 'developer' = 'owner'): Promise<void> {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role, billing, reviews: { reviews: versionsOf('reviewer') } });
  await page.goto(path);
}

/** The texts of the cells that end beyond the visible part of their table. */
const cutOff = (table: Locator) =>
  table.evaluate((element) => {
    const area = element.parentElement?.getBoundingClientRect().right ?? 0;
    const end = Math.min(area, document.documentElement.clientWidth) + 1;
    return [...element.querySelectorAll('thead th, tr[data-row-key] td')]
      .filter((cell) => cell.getBoundingClientRect().right > end || cell.scrollWidth > cell.clientWidth + 1)
      .map((cell) => cell.textContent);
  });

for (const [path, names] of Object.entries(TABLES)) {
  test(`every column of the tables of ${path} is in view at 1280 px`, async ({ page }) => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await applyDisplaySettings(page);
    await open(page, path, path.startsWith('/developer') ? 'developer' : 'owner');
    for (const name of names) {
      const table = page.getByRole('table', { name, exact: true });
      await expect(table.locator('tbody tr[data-row-key]').first()).toBeVisible();
      expect(await cutOff(table), name).toEqual([]);
    }
    if (process.env.SHOTS)
      await page.screenshot({ path: `${process.env.SHOTS}/${path.split('/')[2]}.png`, fullPage: true });
  });
}

test('the action of a row stays in view in a narrow window', async ({ page }) => {
  await page.setViewportSize({ width: 800, height: 800 });
  await applyDisplaySettings(page);
  await open(page, '/console/stakes');
  await expect(page.getByRole('button', { name: 'Return now' }).first()).toBeInViewport({ ratio: 1 });
});
