import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { type BillingState, NOW, subscription } from './fixtures/billing';
import { looks, wear } from './fixtures/look';
import { type ServerOptions, serve } from './fixtures/server';

async function begin(page: Page, path: string, more: ServerOptions = {}, billing: Partial<BillingState> = {}) {
  await page.clock.setFixedTime(NOW * 1000);
  const seen = await serve(page, { signedIn: true, billing, ...more });
  await page.goto(path);
  return seen;
}

const detail = `/customer/subscription/${subscription().id}`;
const dialog = (page: Page) => page.getByRole('dialog');

test.beforeEach(({ page }) => wear(page));

test('an owner sees the deposits, and those that their network refuses to return', async ({ page }) => {
  await begin(page, '/', { role: 'owner' });
  await page.getByRole('button', { name: 'Account of Mei Lin' }).click();
  await page.getByRole('menuitem', { name: 'Deposits' }).click();
  const rows = page.getByRole('table', { name: 'Deposits' }).getByRole('row');
  await expect(rows).toHaveCount(4);
  await expect(rows.nth(2)).toContainText(/Overdraft protection.*17 SKT.*3 SKT/);
  await expect(rows.nth(3)).toContainText("The checkout wasn't completed");
  await page.getByText('Needs attention', { exact: true }).click();
  await expect(page).toHaveURL('/console/stakes?attention=true');
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText('Rejected by its network 6 times');
});

test('an owner returns a deposit once the cause is fixed', async ({ page }) => {
  const seen = await begin(page, '/console/stakes', { role: 'owner' });
  const button = page.getByRole('button', { name: 'Return now' });
  await button.click();
  await expect(dialog(page)).toContainText('20 SKT will go back to the wallet that paid it.');
  await expectAccessible(page);
  await dialog(page).getByRole('button', { name: 'Return now' }).click();
  await expect(dialog(page)).toHaveCount(0);
  await expect(button).toHaveCount(0);
  expect(seen.calls.find(({ path }) => path === '/stakes/stk_3/return')?.method).toBe('PUT');
});

test('a store without deposits says so', async ({ page }) => {
  await begin(page, '/console/stakes', { role: 'owner' }, { stakes: [] });
  await expect(page.getByText('No deposits yet.')).toBeVisible();
});

test('the deposits are for administrators', async ({ page }) => {
  await begin(page, '/console/stakes');
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
  const seen = await begin(page, detail, {}, { overdraft });
  await page.getByRole('button', { name: 'Overdraft protection' }).click();
  await expect(dialog(page)).toContainText('Your deposit no longer covers a renewal and its fee (3.15 SKT).');
  await expect(dialog(page).getByRole('button', { name: 'Top up deposit' })).toBeVisible();
  await dialog(page).getByRole('button', { name: 'Turn off' }).click();
  await expect(page.getByText('Overdraft protection is off. Your deposit is being returned.')).toBeVisible();
  expect(seen.calls.some(({ method, path }) => method === 'DELETE' && path.endsWith('/overdraft-protection'))).toBe(
    true,
  );
});

for (const look of looks) {
  test(`deposits and overdraft protection have no accessibility fault in ${look.locale}, ${look.scheme}`, async ({
    page,
  }) => {
    await wear(page, look);
    const shoot = async (name: string) => {
      await page.waitForLoadState('networkidle');
      await expectAccessible(page);
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(sideways, 'scrolls sideways').toBeLessThanOrEqual(0);
      if (!process.env.SHOTS) return;
      const file = `${name}-${test.info().project.name}-${look.locale}-${look.scheme}.png`;
      await page.screenshot({ path: `${process.env.SHOTS}/${file}`, fullPage: true });
    };
    await begin(page, '/console/stakes', { role: 'owner' });
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await shoot('stakes');
    await begin(page, detail);
    await page.getByRole('button', { name: look.locale === 'zh' ? '透支保护' : 'Overdraft protection' }).click();
    await expect(dialog(page)).toContainText('3.15 SKT');
    await shoot('overdraft');
  });
}
