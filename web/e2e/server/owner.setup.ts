import { expect, test as setup } from '@playwright/test';
import { expectAccessible } from '../fixtures/axe';
import { applyDisplaySettings } from '../fixtures/display-settings';
import { isOwner, OWNER } from './owner';
import { translatorFor } from './translate';
import { approveInWallet, requireServer } from './wallet';

setup('the one-time link explains ownership and makes its first user the owner', async ({ page, browser }) => {
  requireServer();
  setup.setTimeout(60_000);
  // On a server that is tested again, the link is already used.
  if (await isOwner(browser)) return;
  const translate = translatorFor('en');
  await applyDisplaySettings(page);
  await page.goto(process.env.SOUK_OWNER_LINK ?? '/claim-owner');
  expect(await approveInWallet(page, translate)).toEqual(['Sign in', 'Sign in']);
  await expectAccessible(page);
  for (const key of ['owner.text', 'owner.rights.sales', 'owner.rights.team', 'owner.once', 'owner.onceText'])
    await expect(page.getByText(translate(`portal:${key}`))).toBeVisible();
  await page.getByRole('button', { name: translate('portal:owner.action') }).click();
  await expect(page.getByRole('heading', { level: 1, name: translate('portal:owner.done') })).toBeVisible();
  await page.context().storageState({ path: OWNER });
});
