import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { wear } from './fixtures/look';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => wear(page));

test('the one-time link asks before it makes somebody the owner', async ({ page }) => {
  const seen = await serve(page, { signedIn: true });
  await page.goto('/claim-owner?token=first');
  const own = page.getByRole('button', { name: 'Own this store as Mei Lin' });
  await expect(own).toBeVisible();
  await expectAccessible(page);
  expect(seen.calls.some(({ path }) => path === '/session/claim-owner')).toBe(false);
  await own.click();
  await expect(page.getByRole('heading', { level: 1, name: 'You own this store' })).toBeVisible();
});

test('a used link says so', async ({ page }) => {
  await serve(page, { signedIn: true });
  await page.goto('/claim-owner?token=used');
  await page.getByRole('button', { name: 'Own this store as Mei Lin' }).click();
  await expect(page.getByRole('alert')).toContainText('This link has been used or is not valid');
});

test('a visitor connects first and stays on the link', async ({ page }) => {
  await serve(page);
  await page.goto('/claim-owner?token=first');
  await expect(page.getByRole('dialog')).toBeVisible();
  await expect(page).toHaveURL('/claim-owner?token=first');
});
