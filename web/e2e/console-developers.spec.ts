import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { NOW } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW * 1000));

for (const display of displaySettings) {
  test(`an owner sees developers and invitations, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'owner' });
    await page.goto('/console/developers');
    await expect(page.getByText('Noor Haddad').first()).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /^Invite$|^邀请$/ }).click();
    await expectAccessible(page);
    await page.getByRole('button', { name: /Create link|创建链接/ }).click();
    await expect(page.getByRole('textbox', { name: /Invitation link|邀请链接/ })).toHaveValue(/\/invitation#/);
    await expectAccessible(page);
  });

  test(`a user sees what an invitation gives, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true });
    await page.goto('/invitation#first');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(
      /You're invited to be a developer|邀请你成为开发者/,
    );
    await expectAccessible(page);
  });
}

test('an owner invites a reviewer, and the link is shown once', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'owner' });
  await page.goto('/console/developers');
  const invite = page.getByRole('button', { name: 'Invite', exact: true });
  await invite.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('radio', { name: /^Reviewer/ }).check();
  await dialog.getByRole('button', { name: 'Create link' }).click();
  await expect(dialog.getByRole('textbox', { name: 'Invitation link' })).toBeFocused();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByRole('table', { name: 'Invitations' })).toContainText('Reviewer');
  await expect(invite).toBeFocused();
  await expect(page.getByText('invitation#')).toHaveCount(0);
  expect(recorded.calls.find(({ method }) => method === 'POST')?.body).toEqual({ role: 'reviewer', lifetime_days: 7 });
});

test('an admin invites no admins and revokes no passports of admins', async ({ page }) => {
  await applyDisplaySettings(page);
  await serve(page, { signedIn: true, role: 'admin' });
  await page.goto('/console/developers');
  await expect(page.getByRole('button', { name: /^Revoke .* passport of/ })).toHaveCount(2);
  await expect(page.getByRole('button', { name: 'Revoke Developer passport of Noor Haddad' })).toBeVisible();
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  await expect(page.getByRole('dialog').getByRole('radio')).toHaveCount(2);
});

test('a passport and an invitation are revoked after a confirmation', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'owner' });
  await page.goto('/console/developers');
  await page.getByRole('button', { name: 'Revoke Developer passport of Noor Haddad' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke passport' }).click();
  await expect(page.getByText('Noor Haddad')).toHaveCount(0);
  await page.getByRole('button', { name: /^Revoke invitation/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke invitation' }).click();
  await expect(page.getByRole('table', { name: 'Invitations' })).toContainText('Revoked');
  const deleted = recorded.calls.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
  expect(deleted).toEqual(['/console/developers/pass_noor', '/console/invitations/inv_open']);
});

test('an invitation is accepted once, and a used one is refused', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true });
  await page.goto('/invitation#first');
  await expect(page.getByText('Olga invites you')).toBeVisible();
  expect(recorded.calls.some(({ path }) => path === '/invitations/accept')).toBe(false);
  await page.getByRole('button', { name: 'Accept as Mei Lin' }).click();
  await expect(page.getByRole('heading', { level: 1, name: "You're now a developer" })).toBeVisible();
  await page.getByRole('link', { name: 'Create an access token' }).click();
  await expect(page.getByText('No access tokens yet.')).toBeVisible();
  await page.goto('/');
  await page.goto('/invitation#used');
  await expect(page.getByText('This invitation has already been used.')).toBeVisible();
});

test('a visitor signs in before an invitation is shown', async ({ page }) => {
  await applyDisplaySettings(page);
  const recorded = await serve(page);
  await page.goto('/invitation#first');
  await expect(page.getByRole('heading', { name: 'Sign in to see this page' })).toBeVisible();
  expect(recorded.calls.some(({ path }) => path.startsWith('/invitations'))).toBe(false);
});

test('/join leads to the store as long as developers join by invitation', async ({ page }) => {
  await applyDisplaySettings(page);
  await serve(page, { signedIn: true });
  await page.goto('/join');
  await expect(page).toHaveURL('/');
});
