import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { type BillingState, NOW, subscription } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { type ServerOptions, serve } from './fixtures/server';

async function openPage(page: Page, path: string, options: ServerOptions = {}, billing: Partial<BillingState> = {}) {
  await page.clock.setFixedTime(NOW * 1000);
  const recorded = await serve(page, { signedIn: true, billing, ...options });
  await page.goto(path);
  return recorded;
}

const detail = `/customer/subscription/${subscription().id}`;
const dialog = (page: Page) => page.getByRole('dialog');

test.beforeEach(({ page }) => applyDisplaySettings(page));

test('an owner sees the deposits, and those that need attention', async ({ page }) => {
  await openPage(page, '/', { role: 'owner' });
  await page.getByRole('button', { name: 'Account of Mei Lin' }).click();
  await page.getByRole('menuitem', { name: 'Console' }).click();
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Deposits' }).click();
  const rows = page.getByRole('table', { name: 'Deposits' }).getByRole('row');
  await expect(rows).toHaveCount(4);
  await expect(rows.nth(2)).toContainText(/Overdraft protection.*17 SKT.*3 SKT/);
  await expect(rows.nth(3)).toContainText("The checkout wasn't completed");
  await expect(rows.nth(1).getByRole('link', { name: 'Mei Lin' })).toHaveAttribute('href', '/console/customers/cus_1');
  await page.getByText('Needs attention', { exact: true }).click();
  await expect(page).toHaveURL('/console/stakes?attention=true');
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText('Rejected by the network 6 times');
});

test('an owner returns a deposit once the cause is fixed', async ({ page }) => {
  const recorded = await openPage(page, '/console/stakes', { role: 'owner' });
  const button = page.getByRole('button', { name: 'Return now' });
  await button.click();
  await expect(dialog(page)).toContainText('20 SKT will go back to the wallet that paid it.');
  await expectAccessible(page);
  await dialog(page).getByRole('button', { name: 'Return now' }).click();
  await expect(dialog(page)).toHaveCount(0);
  await expect(button).toHaveCount(0);
  expect(recorded.calls.find(({ path }) => path === '/stakes/stk_3/return')?.method).toBe('PUT');
});

test('a store without deposits shows a message', async ({ page }) => {
  await openPage(page, '/console/stakes', { role: 'owner' }, { stakes: [] });
  await expect(page.getByText('No deposits yet.')).toBeVisible();
});

test('the deposits page is for administrators', async ({ page }) => {
  await openPage(page, '/console/stakes');
  await expect(page.getByRole('heading', { level: 1, name: 'This page is for administrators' })).toBeVisible();
});

test('a customer whose overdraft deposit runs low tops it up or turns the protection off', async ({ page }) => {
  const overdraft = {
    enabled: true,
    sufficient: false,
    required: '3150000000000000000',
    fee: '150000000000000000',
    available: '1000000000000000000',
    currency_id: 'pc_skt',
  };
  const recorded = await openPage(page, detail, {}, { overdraft });
  await page.getByRole('button', { name: 'Overdraft protection' }).click();
  await expect(dialog(page)).toContainText('Your deposit no longer covers a renewal and its fee (3.15 SKT).');
  await expect(dialog(page).getByRole('button', { name: 'Top up deposit' })).toBeVisible();
  await dialog(page).getByRole('button', { name: 'Turn off protection' }).click();
  await expect(dialog(page)).toHaveAccessibleName('Turn off overdraft protection?');
  await expect(dialog(page)).toContainText('Your deposit of 1 SKT will be returned.');
  expect(recorded.calls.filter(({ method }) => method === 'DELETE')).toEqual([]);
  await dialog(page).getByRole('button', { name: 'Turn off protection' }).click();
  await expect(page.getByText('Overdraft protection is off. Your deposit is being returned.')).toBeVisible();
  expect(recorded.calls.some(({ method, path }) => method === 'DELETE' && path.endsWith('/overdraft-protection'))).toBe(
    true,
  );
});

for (const display of displaySettings) {
  test(`deposits and overdraft protection have no accessibility fault in ${display.locale}, ${display.scheme}`, async ({
    page,
  }) => {
    await applyDisplaySettings(page, display);
    const takeScreenshot = async (name: string) => {
      await page.waitForLoadState('networkidle');
      await expectAccessible(page);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(overflow, 'has horizontal overflow').toBeLessThanOrEqual(0);
      if (!process.env.SHOTS) return;
      const file = `${name}-${test.info().project.name}-${display.locale}-${display.scheme}.png`;
      await page.screenshot({ path: `${process.env.SHOTS}/${file}`, fullPage: true });
    };
    await openPage(page, '/console/stakes', { role: 'owner' });
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await takeScreenshot('stakes');
    await openPage(page, detail);
    await page.getByRole('button', { name: display.locale === 'zh' ? '透支保护' : 'Overdraft protection' }).click();
    await expect(dialog(page)).toContainText('3.15 SKT');
    await takeScreenshot('overdraft');
  });
}
