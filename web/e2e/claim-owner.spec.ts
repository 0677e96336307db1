import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { wear } from './fixtures/look';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => wear(page));

test('the one-time link explains ownership and asks before it makes somebody the owner', async ({ page }) => {
  const seen = await serve(page, { signedIn: true });
  await page.goto('/claim-owner?token=first');
  const own = page.getByRole('button', { name: 'Claim ownership as Mei Lin' });
  await expect(own).toBeVisible();
  await expect(page.getByText('see all sales, customers, subscriptions and invoices, and issue refunds')).toBeVisible();
  await expect(page.getByText('This link works once')).toBeVisible();
  await expectAccessible(page);
  expect(seen.calls.some(({ path }) => path === '/session/claim-owner')).toBe(false);
  await own.click();
  await expect(page.getByRole('heading', { level: 1, name: 'You own this store now' })).toBeVisible();
});

test('a used link says so', async ({ page }) => {
  await serve(page, { signedIn: true });
  await page.goto('/claim-owner?token=used');
  await page.getByRole('button', { name: 'Claim ownership as Mei Lin' }).click();
  await expect(page.getByRole('alert')).toContainText("This link has already been used or isn't valid.");
  await expect(page.getByRole('heading', { level: 1, name: "This link can't be used" })).toBeVisible();
});

test('a visitor connects first and stays on the link', async ({ page }) => {
  await serve(page);
  await page.goto('/claim-owner?token=first');
  await expect(page.getByRole('dialog')).toBeVisible();
  await expect(page).toHaveURL('/claim-owner?token=first');
});
