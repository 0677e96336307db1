import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { NOW } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

const DAY = 86_400;
const clock = '/console/test-clocks?id=clock_1';

test.beforeEach(async ({ page }) => {
  await page.clock.setFixedTime(NOW * 1000);
  await applyDisplaySettings(page);
});

test('only administrators can use test clocks', async ({ page }) => {
  await serve(page, { signedIn: true, billing: {} });
  await page.goto('/console/test-clocks');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Only administrators can use test clocks');
});

test('live mode has no clocks and a button to switch to test mode', async ({ page }) => {
  await page.addInitScript(() => localStorage.setItem('livemode', 'true'));
  await serve(page, { signedIn: true, billing: {}, role: 'owner' });
  await page.goto('/console/test-clocks');
  await page.getByRole('button', { name: 'Switch to test mode' }).click();
  await expect(page.getByRole('heading', { level: 2, name: 'Clocks' })).toBeVisible();
});

test('a clock advances to the next invoice and lists its activity', async ({ page }) => {
  const recorded = await serve(page, { signedIn: true, billing: {}, role: 'owner' });
  await page.goto('/customer');
  await page.getByRole('button', { name: 'Account of Mei Lin' }).click();
  await page.getByRole('menuitem', { name: 'Console' }).click();
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Test clocks' }).click();
  await page.getByRole('link', { name: 'Trial to renewal' }).click();
  await expect(page.getByText('Nov 20, 2026, 9:30 AM UTC').first()).toBeVisible();
  await expect(page.getByRole('link', { name: 'Almanac Plus' }).first()).toBeVisible();
  await page.getByRole('button', { name: 'Advance to next invoice' }).click();
  await expect(page.getByText('Advancing to Nov 21, 2026, 9:30 AM UTC')).toBeVisible();
  const activity = page.getByRole('region', { name: 'Activity' }).getByRole('listitem');
  await expect(activity.first()).toHaveText(/Nov 21, 2026, 9:30 AM UTCSubscription renewedAlmanac Plus/);
  expect(recorded.calls.find(({ path }) => path.endsWith('/advance'))?.body).toEqual({ by: 'next_invoice' });
});

test('a clock advances to a date, and only forward', async ({ page }) => {
  const recorded = await serve(page, { signedIn: true, billing: {}, role: 'admin' });
  await page.goto(clock);
  const date = page.getByRole('textbox', { name: 'Advance to a date' });
  await date.fill('2026-11-01 00:00');
  await date.press('Enter');
  await page.getByRole('button', { name: 'Advance', exact: true }).click();
  await expect(date).toHaveAccessibleDescription(/Choose a date after the clock's current time/);
  await expect(date).toBeFocused();
  await date.fill('2026-11-23 09:30');
  await date.press('Enter');
  await expect(date).toHaveValue('Nov 23, 2026, 9:30 AM');
  await expect(page.getByText(/^Time zone: \S+$/)).toBeVisible();
  await page.getByRole('button', { name: 'Advance', exact: true }).click();
  await expect
    .poll(() => recorded.calls.find(({ path }) => path.endsWith('/advance'))?.body)
    .toEqual({ to: NOW + 3 * DAY + (await page.evaluate(() => new Date().getTimezoneOffset() * 60)) });
});

test('a clock can be added for an existing customer only', async ({ page }) => {
  const recorded = await serve(page, { signedIn: true, billing: {}, role: 'owner' });
  await page.goto('/console/test-clocks');
  await page.getByRole('button', { name: 'Add test clock' }).click();
  await expect(page.getByLabel('Customer', { exact: true })).toHaveAccessibleDescription(/Enter a customer/);
  await page.getByLabel('Customer', { exact: true }).fill('cus_none');
  await page.getByRole('button', { name: 'Add test clock' }).click();
  await expect(page.getByRole('alert')).toContainText('There is no such customer');
  await page.getByLabel('Customer', { exact: true }).fill('cus_1');
  await page.getByLabel('Name (optional)').fill('Second');
  await page.getByRole('button', { name: 'Add test clock' }).click();
  await expect(page.getByRole('heading', { level: 2, name: 'Second' })).toBeVisible();
  expect(
    recorded.calls.filter(({ path, method }) => path === '/test-clocks' && method === 'POST').at(-1)?.body,
  ).toEqual({
    customer_id: 'cus_1',
    name: 'Second',
  });
});

for (const display of displaySettings) {
  test(`the clocks have no accessibility fault in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, billing: {}, role: 'owner' });
    await page.goto(clock);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
  });
}
