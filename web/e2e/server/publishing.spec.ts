import { expect, test } from '@playwright/test';
import type { Page as List, PassportHolder, Session } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import { applyDisplaySettings } from '../fixtures/display-settings';
import { expectStable, recordLayoutShifts } from '../fixtures/layout-shift';
import { Owner } from './owner';
import { translatorFor } from './translate';
import { approveInWallet, requireServer } from './wallet';

test('an invited user signs in, becomes a developer, creates an access token and loses the role', async ({
  page,
  browser,
}) => {
  requireServer();
  test.setTimeout(90_000);
  const translate = translatorFor('en');
  await applyDisplaySettings(page);
  await recordLayoutShifts(page);
  const owner = await Owner.of(browser);
  const admin = await owner.page(page, {});
  await admin.goto('/console/developers');
  await admin.getByRole('button', { name: translate('people:developers.invite') }).click();
  await admin.getByRole('button', { name: translate('people:invitations.createAction') }).click();
  const link = await admin.getByRole('textbox', { name: translate('people:invitations.linkLabel') }).inputValue();
  await admin.getByRole('button', { name: translate('people:invitations.done') }).click();

  await page.goto(link);
  await approveInWallet(page, translate);
  await expectAccessible(page);
  await expectStable(page);
  await page.getByRole('button', { name: translate('portal:invitation.action') }).click();
  await page.getByRole('link', { name: translate('portal:invitation.toTokens') }).click();
  await page.getByRole('button', { name: translate('publish:tokens.create') }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(translate('publish:tokens.name')).first().fill('Build server');
  await dialog.getByRole('button', { name: translate('publish:tokens.createAction') }).click();
  await dialog.getByRole('button', { name: translate('publish:tokens.show') }).click();
  await expect(dialog.getByLabel(translate('publish:tokens.token')).first()).toHaveValue(
    /^z[1-9A-HJ-NP-Za-km-z]{86,88}$/,
  );
  await dialog.getByRole('checkbox').check();
  await dialog.getByRole('button', { name: translate('publish:tokens.done') }).click();
  await expect(page.getByRole('table')).toContainText('Build server');

  for (const path of ['/developer/apps', '/developer/earnings', '/developer/access-tokens']) {
    await page.goto(path);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await page.waitForLoadState('networkidle');
    await expectStable(page);
  }

  const session = (await (await page.context().request.get(`${process.env.SOUK_URL}/api/session`)).json()) as Session;
  const holders = await owner.get<List<PassportHolder>>('/api/console/developers');
  const holder = holders.list.find(({ did }) => did === session.user?.did);
  await admin.reload();
  await admin.getByRole('button', { name: new RegExp(`^Revoke Developer passport of ${holder?.name}`) }).click();
  await admin
    .getByRole('dialog')
    .getByRole('button', { name: translate('people:developers.revokeAction') })
    .click();
  await expect(admin.getByText(translate('people:developers.revoked'))).toBeAttached();
  await page.reload();
  await expect(page.getByRole('heading', { level: 1, name: translate('publish:tokens.forbidden') })).toBeVisible();
  await owner.context.close();
});
