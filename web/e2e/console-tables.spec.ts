import { expect, type Locator, type Page, test } from '@playwright/test';
import { type BillingState, dispute, NOW, stakes, subscription } from './fixtures/billing';
import { accessToken } from './fixtures/data';
import { applyDisplaySettings } from './fixtures/display-settings';
import { forfeited, found, less, longAddress, more, refunded, returned } from './fixtures/on-hold';
import { blockedDigest, digest, trustedPublisher } from './fixtures/publishing';
import { versionsOf } from './fixtures/reviews';
import { payee, payout, units } from './fixtures/selling';
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
const publishing = {
  digests: [blockedDigest(), blockedDigest({ sha256: digest('77aa'), reason: 'A miner that a server had added' })],
  publishers: [trustedPublisher({ status: 'not_accepted', apps: ['z8iZpA529j4Jk1iA2A9cDqnPcVMpT6qWqAvmN'] })],
};
const selling = {
  payees: [payee({ overpaid: units('190') })],
  payouts: [payout({ reason: 'Bank transfer 4711 of 12 November to the account of the developer' })],
};

const TABLES: Record<string, string[]> = {
  '/console/developers': ['Developers', 'Invitations'],
  '/console/apps': ['Apps'],
  '/console/reviews': ['Reviews'],
  '/console/categories': ['Categories'],
  '/console/blocked-digests': ['Blocked files'],
  '/console/credit-notes': ['Credit notes'],
  '/console/disputes': ['Disputes'],
  '/console/on-hold': [
    'Billing on hold',
    'Payments on hold',
    'Refunds and deposits on hold',
    'Payments found after the restore',
  ],
  '/console/payables': ['Payables'],
  '/console/payables?payouts=true': ['Payouts'],
  '/console/stakes': ['Deposits'],
  '/console/audit-log': ['Audit log'],
  '/console/customers/cus_1': ['Invoices'],
  '/developer/apps': ['Your apps'],
  '/developer/earnings': ['Total', 'By app'],
  '/developer/access-tokens': ['Access tokens', 'Trusted publishers'],
};

async function open(page: Page, path: string, role: 'owner' | 'developer' = 'owner'): Promise<void> {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, {
    signedIn: true,
    role,
    billing,
    publishing,
    reviews: { reviews: versionsOf('reviewer') },
    selling,
  });
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

/** Tables with more columns than a window has room for: they scroll, and what can be done with a row stays in view. */
const SCROLLING: [path: string, width: number, role: 'button' | 'link', action: string | RegExp][] = [
  ['/console/stakes', 800, 'button', 'Return now'],
  ['/console/apps', 800, 'button', /^Edit /],
  ['/console/categories', 800, 'button', /^Delete /],
  ['/console/blocked-digests', 800, 'button', /^Unblock /],
  ['/developer/apps', 800, 'link', /^Settings of|^Pricing of/],
];

for (const [path, width, role, action] of SCROLLING) {
  test(`the actions of the table of ${path} stay in view at ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await applyDisplaySettings(page);
    await open(page, path, path.startsWith('/developer') ? 'developer' : 'owner');
    await expect(page.getByRole(role, { name: action }).first()).toBeInViewport({ ratio: 1 });
  });
}
