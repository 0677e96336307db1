import { expect, test } from '@playwright/test';
import type { DeveloperProgram, Preferences } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import { applyDisplaySettings, displaySettings } from '../fixtures/display-settings';
import { expectStable, recordLayoutShifts } from '../fixtures/layout-shift';
import { Owner } from './owner';
import { translatorFor } from './translate';
import { approveInWallet, requireServer } from './wallet';

test.describe.configure({ mode: 'serial' });

/** Lets users become developers by deposits of two test tokens, or invites them again. */
async function accept(owner: Owner, mode: Preferences['permission_mode']): Promise<void> {
  const before = await owner.get<Preferences>('/api/console/preferences');
  const changes = { permission_mode: mode, stake_currency: 'SKT', passport_stake_amount: '2' };
  await owner.post('/api/console/preferences', { ...before, ...changes }, 'PUT');
}

for (const display of displaySettings) {
  test(`a user becomes a developer by a deposit, and leaves, in ${display.locale}, ${display.scheme}`, async ({
    page,
    browser,
  }) => {
    requireServer();
    test.setTimeout(120_000);
    const translate = translatorFor(display.locale);
    await applyDisplaySettings(page, display);
    await recordLayoutShifts(page);
    const owner = await Owner.of(browser);
    await accept(owner, 'staking');
    try {
      await page.goto('/join');
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await page.waitForLoadState('networkidle');
      await expectAccessible(page);
      await expectStable(page);
      await page.getByRole('checkbox').check();
      await page.getByRole('button', { name: translate('join:join.signIn') }).click();
      await approveInWallet(page, translate);
      await page.getByRole('button', { name: translate('join:join.pay') }).click();
      await approveInWallet(page, translate);
      await expect(page.getByRole('heading', { level: 1, name: translate('join:join.done') })).toBeVisible({
        timeout: 30_000,
      });
      await expectAccessible(page);
      await page.getByRole('link', { name: translate('join:join.toTokens') }).click();
      await expect(page.getByRole('button', { name: translate('publish:tokens.create') })).toBeVisible();

      await page.goto('/profile');
      await expect(page.getByText(translate('portal:profile.developerSince'))).toBeVisible();
      await page.getByRole('button', { name: translate('join:leave.action') }).click();
      await page
        .getByRole('dialog')
        .getByRole('button', { name: translate('join:leave.action') })
        .click();
      await expect(page.getByText(translate('portal:profile.developerSince'))).toHaveCount(0);
      const address = `${process.env.SOUK_URL}/api/developer-program?livemode=false`;
      const program = (await (await page.context().request.get(address)).json()) as DeveloperProgram;
      expect(program.standing).toMatchObject({
        developer_since: null,
        deposit: { status: 'releasing', release_reason: 'requested' },
      });
    } finally {
      await accept(owner, 'inviting');
      await owner.context.close();
    }
    await page.goto('/join');
    await expect(page).toHaveURL('/');
  });
}
