import { expect, type Page, test } from '@playwright/test';
import type { Stake } from '../src/api/types';
import { expectAccessible } from './fixtures/axe';
import { NOW, unit } from './fixtures/billing';
import { user } from './fixtures/data';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { APP, REVIEWER, review } from './fixtures/reviews';
import { type ServerOptions, serve } from './fixtures/server';
import { deposit, staking, standingOf } from './fixtures/staking';

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW * 1000));

const AT = '2026-11-20T09:30:00.000Z';
const RETURN = NOW + 7 * 86_400;
const developer = standingOf({
  agreed_at: AT,
  developer_since: AT,
  by_deposit: true,
  deposit: deposit('membership', { developer_did: user.did }),
});

/** Opens a page of a store that accepts developers by deposits, in English. */
async function open(page: Page, path: string, options: ServerOptions = {}) {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, ...options, staking: { ...staking, ...options.staking } });
  await page.goto(path);
  return recorded;
}

const dialog = (page: Page) => page.getByRole('dialog');
const sent = ({ calls }: Awaited<ReturnType<typeof serve>>, method: string, path: string | RegExp) =>
  calls
    .filter((call) => call.method === method)
    .filter((call) => (path instanceof RegExp ? path.test(call.path) : call.path === path));

for (const display of displaySettings) {
  test(`users read what they get, pay and agree to, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, staking });
    await page.goto('/join');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/Become a developer of Souk|成为 Souk 的开发者/);
    await expect(page.getByText(/50 SKT, held by the payment network|50 SKT，由支付网络托管/)).toBeVisible();
    await expect(
      page.getByRole('heading', { name: /Terms for developers \(version 1\)|开发者条款（第 1 版）/ }),
    ).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /Pay deposit of 50 SKT|支付押金 50 SKT/ }).click();
    await expect(page.getByRole('alert')).toHaveText(/Please agree to the terms|请先同意条款/);
    await expectAccessible(page);
  });

  test(`a developer sees how to leave, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'developer', staking: { ...staking, standing: developer } });
    await page.goto('/join');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/You're a developer|你已是开发者/);
    await expectAccessible(page);
    await page.getByRole('button', { name: /Leave the developer program|退出开发者计划/ }).click();
    await expect(dialog(page)).toContainText(/Your deposit of 50 SKT will be returned|你的押金 50 SKT 将在 7 天后/);
    await expectAccessible(page);
  });

  test(`a blocked user is told so, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, staking: { ...staking, standing: standingOf({ blocked: true }) } });
    for (const path of ['/join', '/developer/apps', '/profile']) {
      await page.goto(path);
      await expect(
        page.getByText(/Your access to this store has been revoked|你对本商店的访问权限已被撤销/),
      ).toBeVisible();
      await expectAccessible(page);
    }
  });

  test(`a developer sees the deposit for an app, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    const reviews = [review({ app: { block_reason: 'publish stake revoked by developer' } })];
    await serve(page, { signedIn: true, role: 'developer', reviews: { reviews }, staking });
    await page.goto(`/developer/apps/${APP}`);
    await expect(page.getByRole('button', { name: /Pay deposit of 30 SKT|支付押金 30 SKT/ })).toBeVisible();
    await expect(page.getByText(/the developer revoked the app's deposit|开发者撤回了此应用的押金/)).toBeVisible();
    await expectAccessible(page);
  });
}

test('a user agrees, pays the deposit, and is a developer', async ({ page }) => {
  const recorded = await open(page, '/join');
  await page.getByRole('checkbox', { name: 'I have read the terms for developers and agree to them' }).check();
  await page.getByRole('button', { name: 'Pay deposit of 50 SKT' }).click();
  await expect(page.getByRole('heading', { level: 1, name: "You're a developer" })).toBeFocused({ timeout: 8000 });
  await page.getByRole('link', { name: 'Create an access token' }).click();
  await expect(page.getByText('No access tokens yet.')).toBeVisible();
  expect(sent(recorded, 'POST', '/developer-program/agreement').map(({ body }) => body)).toEqual([{ version: 1 }]);
  expect(sent(recorded, 'GET', '/did/stake-and-join/token')).toHaveLength(1);
});

test('a visitor signs in before anything is agreed to', async ({ page }) => {
  const recorded = await open(page, '/join', { signedIn: false });
  await page.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Sign in and continue' }).click();
  await expect(dialog(page)).toBeVisible();
  expect(sent(recorded, 'POST', /developer-program/)).toEqual([]);
});

test('a developer leaves on the profile, and can join again once the deposit is returned', async ({ page }) => {
  const recorded = await open(page, '/profile', { role: 'developer', staking: { standing: developer } });
  await expect(page.getByText(/^Developer since .*2026$/)).toBeVisible();
  await page.getByRole('button', { name: 'Leave the developer program' }).click();
  await dialog(page).getByRole('button', { name: 'Leave the developer program' }).click();
  await expect(page.getByText(/^Developer since/)).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Leave the developer program' })).toHaveCount(0);
  expect(sent(recorded, 'DELETE', '/developer-program/membership')).toHaveLength(1);
  await page.goto('/join');
  await expect(page.getByText('Your former deposit is on its way back')).toBeVisible();
  await expect(page.getByRole('button', { name: /^Pay deposit/ })).toHaveCount(0);
});

test('a deposit that was revoked can be replaced at once', async ({ page }) => {
  const revoked = { status: 'releasing', release_reason: 'revoked', return_at: RETURN } as const;
  const standing = standingOf({ agreed_at: AT, deposit: deposit('membership', revoked) });
  await open(page, '/join', { staking: { standing } });
  await expect(page.getByText('You have revoked your deposit')).toBeVisible();
  await expect(page.getByText(/^You agreed on .*2026\.$/)).toBeVisible();
  await expect(page.getByRole('button', { name: 'Pay deposit of 50 SKT' })).toBeVisible();
});

test('whoever has paid a part of the deposit is asked for the rest', async ({ page }) => {
  const part = deposit('membership', { amount: unit(40), amount_remaining: unit(40), amount_missing: unit(10) });
  await open(page, '/join', { staking: { standing: standingOf({ agreed_at: AT, deposit: part }) } });
  await expect(page.getByText('You have paid 40 SKT of the deposit')).toBeVisible();
  await expect(page.getByText('Pay the missing 10 SKT within a day.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Pay deposit of 10 SKT' })).toBeVisible();
});

test('a store that cannot take deposits says so', async ({ page }) => {
  await open(page, '/join', { staking: { program: { ...staking.program, membership: null } } });
  await expect(page.getByText("The store can't take deposits at the moment")).toBeVisible();
  await expect(page.getByRole('button', { name: /^Pay deposit/ })).toHaveCount(0);
});

test('whoever is no developer finds the way to become one', async ({ page }) => {
  await open(page, '/developer/access-tokens');
  for (const path of ['/developer/access-tokens', '/profile']) {
    await page.goto(path);
    await page.getByRole('link', { name: 'Become a developer' }).click();
    await expect(page).toHaveURL('/join');
  }
});

test('an app is published after its deposit was paid', async ({ page }) => {
  const reviews = [
    review({ need: null, app: { category_id: 'cat_media' }, version: { status: 'APPROVED', decided_by: REVIEWER } }),
  ];
  const recorded = await open(page, `/developer/apps/${APP}/1.3.0`, { role: 'developer', reviews: { reviews } });
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(dialog(page)).toContainText('This store requires a refundable deposit of 30 SKT');
  await expectAccessible(page);
  await dialog(page).getByRole('button', { name: 'Pay deposit of 30 SKT' }).click();
  await expect(page.getByText('This store requires a refundable deposit')).toHaveCount(0, { timeout: 8000 });
  await page.getByRole('dialog').getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(page.getByText('New installs get this version.')).toBeVisible();
  expect(sent(recorded, 'GET', '/did/stake-and-publish/token')[0]?.query.get('appDid')).toBe(APP);
});

test('a developer takes the deposit for an app back', async ({ page }) => {
  const held = { ...staking.deposit, complete: true, stake: deposit('publication', { app_did: APP }) };
  const recorded = await open(page, `/developer/apps/${APP}`, {
    role: 'developer',
    reviews: { reviews: [review()] },
    staking: { deposit: held },
  });
  await expect(page.getByText('30 SKT is held for this app.')).toBeVisible();
  await page.getByRole('button', { name: 'Take back deposit' }).click();
  await expect(dialog(page)).toContainText('If the app is published, it is blocked immediately');
  await expectAccessible(page);
  await dialog(page).getByRole('button', { name: 'Take back deposit' }).click();
  await expect(page.getByText(/^30 SKT is being returned\. The return is due on Dec/)).toBeVisible();
  expect(sent(recorded, 'DELETE', `/apps/${APP}/deposit`)).toHaveLength(1);
});

test('an administrator blocks an app and forfeits its deposit', async ({ page }) => {
  const held = { ...staking.deposit, complete: true, stake: deposit('publication', { app_did: APP }) };
  const reviews = [review({ role: 'admin', current: '1.3.0', version: { status: 'PUBLISHED', published_at: AT } })];
  const recorded = await open(page, `/console/reviews/${APP}/1.3.0`, {
    role: 'admin',
    reviews: { reviews },
    staking: { deposit: held },
  });
  await page.getByRole('button', { name: 'Block app', exact: true }).click();
  await dialog(page).getByLabel('Reason').fill('It sends passwords to strangers');
  await dialog(page).getByRole('checkbox', { name: 'Forfeit the deposit of 30 SKT' }).check();
  await expectAccessible(page);
  await dialog(page).getByRole('button', { name: 'Block app' }).click();
  await expect(page.getByRole('button', { name: 'Unblock app' })).toBeVisible();
  expect(sent(recorded, 'PUT', /review$/).map(({ body }) => body)).toEqual([
    { step: 'block', comment: 'It sends passwords to strangers', forfeit_deposit: true },
  ]);
});

/** The page of a version of a blocked app, for an administrator. */
const openBlocked = (page: Page, stake: Stake | null) =>
  open(page, `/console/reviews/${APP}/1.3.0`, {
    role: 'admin',
    reviews: {
      reviews: [
        review({
          role: 'admin',
          current: '1.3.0',
          app: { block_reason: 'publish stake revoked by developer' },
          version: { status: 'PUBLISHED', published_at: AT },
        }),
      ],
    },
    staking: { deposit: { ...staking.deposit, stake } },
  });

test('an administrator forfeits the deposit of an app that is blocked already', async ({ page }) => {
  const revoked = deposit('publication', { app_did: APP, status: 'releasing', release_reason: 'revoked' });
  const recorded = await openBlocked(page, revoked);
  await page.getByRole('button', { name: 'Forfeit deposit' }).click();
  await expect(dialog(page)).toContainText('The payment network transfers 30 SKT to the store');
  await dialog(page).getByLabel('Reason').fill('It sends passwords to strangers');
  await expectAccessible(page);
  await dialog(page).getByRole('button', { name: 'Forfeit deposit' }).click();
  await expect(page.getByText('Reason: It sends passwords to strangers')).toBeVisible();
  expect(sent(recorded, 'PUT', /review$/).map(({ body }) => body)).toEqual([
    { step: 'block', comment: 'It sends passwords to strangers', forfeit_deposit: true },
  ]);
});

test('a deposit that does not exist or is forfeited already cannot be forfeited', async ({ page }) => {
  const forfeited = deposit('publication', { app_did: APP, status: 'releasing', release_reason: 'forfeited' });
  for (const stake of [null, forfeited]) {
    const recorded = await openBlocked(page, stake);
    await expect(page.getByRole('button', { name: 'Unblock app' })).toBeVisible();
    await expect.poll(() => sent(recorded, 'GET', `/apps/${APP}/deposit`).length).toBeGreaterThan(0);
    await expect(page.getByRole('button', { name: 'Forfeit deposit' })).toHaveCount(0);
  }
});

test('an administrator blocks a user and ends the block', async ({ page }) => {
  const recorded = await open(page, '/console/developers', { role: 'owner' });
  await expect(page.getByText('No user is blocked.')).toBeVisible();
  await page.getByRole('button', { name: 'Block Noor Haddad' }).click();
  await expect(dialog(page)).toContainText('All their roles end immediately');
  await expectAccessible(page);
  await dialog(page).getByRole('button', { name: 'Block user' }).click();
  const blocked = page.getByRole('table', { name: 'Blocked users' });
  await expect(blocked).toContainText('Noor Haddad');
  await expect(page.getByRole('button', { name: 'Block Noor Haddad', exact: true })).toHaveCount(0);
  await page.getByRole('button', { name: 'Unblock Noor Haddad' }).click();
  await dialog(page).getByRole('button', { name: 'Unblock' }).click();
  await expect(page.getByText('No user is blocked.')).toBeVisible();
  const path = /^\/console\/blocked-users\/z1noor/;
  expect([...sent(recorded, 'PUT', path), ...sent(recorded, 'DELETE', path)]).toHaveLength(2);
});
