import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { applyDisplaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => applyDisplaySettings(page));

test('the one-time link explains ownership and requires confirmation', async ({ page }) => {
  const recorded = await serve(page, { signedIn: true });
  await page.goto('/claim-owner?token=first');
  const claimButton = page.getByRole('button', { name: 'Claim ownership as Mei Lin' });
  await expect(claimButton).toBeVisible();
  await expect(page.getByText('see all sales, customers, subscriptions and invoices, and issue refunds')).toBeVisible();
  await expect(page.getByText('This link works once')).toBeVisible();
  await expectAccessible(page);
  expect(recorded.calls.some(({ path }) => path === '/session/claim-owner')).toBe(false);
  await claimButton.click();
  await expect(page.getByRole('heading', { level: 1, name: 'You own this store now' })).toBeVisible();
});

test('a used link shows an error', async ({ page }) => {
  await serve(page, { signedIn: true });
  await page.goto('/claim-owner?token=used');
  // Opening the link does not check it, so the page must not claim that the store has no owner.
  await expect(
    page.getByText('If the store has no owner yet, the person who uses the link becomes its owner.'),
  ).toBeVisible();
  await page.getByRole('button', { name: 'Claim ownership as Mei Lin' }).click();
  await expect(page.getByRole('alert')).toContainText("This link has already been used or isn't valid.");
  await expect(page.getByRole('heading', { level: 1, name: "This link can't be used" })).toBeVisible();
});

test('a visitor signs in first and stays on the link', async ({ page }) => {
  await serve(page);
  await page.goto('/claim-owner?token=first');
  await expect(page.getByRole('dialog')).toBeVisible();
  await expect(page).toHaveURL('/claim-owner?token=first');
});
