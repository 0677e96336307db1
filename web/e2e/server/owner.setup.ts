import { expect, test as setup } from '@playwright/test';
import { expectAccessible } from '../fixtures/axe';
import { wear } from '../fixtures/look';
import { isOwner, OWNER } from './owner';
import { agreeInWallet, requireServer } from './wallet';
import { wordsIn } from './words';

setup('the one-time link explains ownership, and whoever uses it first owns the store', async ({ page, browser }) => {
  requireServer();
  setup.setTimeout(60_000);
  // The link of a server that is tested again was used the first time.
  if (await isOwner(browser)) return;
  const say = wordsIn('en');
  await wear(page);
  await page.goto(process.env.SOUK_OWNER_LINK ?? '/claim-owner');
  expect(await agreeInWallet(page, say)).toEqual(['Sign in', 'Sign in']);
  await expectAccessible(page);
  for (const explained of ['owner.text', 'owner.rights.sales', 'owner.rights.team', 'owner.once', 'owner.onceText'])
    await expect(page.getByText(say(`portal:${explained}`))).toBeVisible();
  await page.getByRole('button', { name: say('portal:owner.action') }).click();
  await expect(page.getByRole('heading', { level: 1, name: say('portal:owner.done') })).toBeVisible();
  await page.context().storageState({ path: OWNER });
});
