import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { skt, user } from './fixtures/data';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { APP, NOW, versionsOf } from './fixtures/reviews';
import { oneTime, PARTNER, pricing, units } from './fixtures/selling';
import { type ServerOptions, serve } from './fixtures/server';

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW));

const ownApp = `/developer/apps/${APP}`;
const developer: ServerOptions = { role: 'developer', reviews: { reviews: versionsOf('app_owner') } };

/** Opens a page with the API mocked, in English. */
async function open(page: Page, path: string, options: ServerOptions) {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, ...options });
  await page.goto(path);
  return recorded;
}

const sent = ({ calls }: Awaited<ReturnType<typeof serve>>, method: string) =>
  calls
    .filter((call) => call.method === method && /\/(price|payouts|reverse)$/.test(call.path))
    .map(({ body }) => body);

for (const display of displaySettings) {
  const name = (en: string, zh: string) => (display.locale === 'zh' ? zh : en);

  test(`a developer proposes a price with shares, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    const recorded = await serve(page, { signedIn: true, ...developer });
    await page.goto(ownApp);
    await page.getByRole('button', { name: name('Change price', '修改价格') }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(name('One-time price', '一次性价格')).click();
    await expectAccessible(page);
    await dialog.getByLabel(name('Price in SKT', '价格（SKT）')).fill('20');
    await dialog.getByLabel(name('Share 1', '份额 1')).fill('60');
    await dialog.getByRole('button', { name: name('Add beneficiary', '添加受益人') }).click();
    await dialog.getByLabel(name('Beneficiary 2 (DID)', '受益人 2（DID）')).fill(PARTNER);
    await dialog.getByLabel(name('Share 2', '份额 2')).fill('20.5');
    await expect(dialog.getByText(name('19.5% The store', '19.5% 商店'))).toBeVisible();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: name('Propose price', '提交价格') }).click();
    await expect(dialog).toHaveCount(0);
    await expect(page.getByText(name('From the next published stable version', '发布下一个稳定版本后'))).toBeVisible();
    await expectAccessible(page);
    expect(sent(recorded, 'PUT')).toEqual([
      {
        type: 'one_time',
        currency_id: skt.id,
        amount: '20',
        shares: [
          { beneficiary: user.did, percent: '60' },
          { beneficiary: PARTNER, percent: '20.5' },
        ],
      },
    ]);
  });

  test(`a developer sees earnings and payouts, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, ...developer });
    await page.goto('/developer/apps');
    await page.getByRole('link', { name: name('Earnings', '收入') }).click();
    await expect(page.getByText('31 SKT')).toBeVisible();
    await expect(page.getByRole('link', { name: name('Orbit', '轨道') })).toBeVisible();
    await expectAccessible(page);
    await page.getByText(name('Payouts', '支付记录'), { exact: true }).click();
    await expect(page.getByText('Bank transfer 4711')).toBeVisible();
    await expectAccessible(page);
  });

  test(`an owner records a payout, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    const recorded = await serve(page, { signedIn: true, role: 'owner' });
    await page.goto('/console/payables');
    await expect(page.getByText('31 SKT')).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: name('Record payout', '记录支付') }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(name('Amount in SKT', '金额（SKT）')).fill('1.5');
    await dialog.getByLabel(name('Note', '说明')).fill('Transfer 12');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: name('Record payout', '记录支付') }).click();
    await expect(dialog).toHaveCount(0);
    await expect(page.getByText('29.5 SKT')).toBeVisible();
    await page.getByText(name('Payouts', '支付记录'), { exact: true }).click();
    await expect(page.getByText('Transfer 12')).toBeVisible();
    await expectAccessible(page);
    expect(sent(recorded, 'POST')).toEqual([
      { amount: '1500000000000000000', paid_before: units('10'), reason: 'Transfer 12' },
    ]);
  });
}

test('a price needs a number within the limits and shares that leave the commission', async ({ page }) => {
  const recorded = await open(page, ownApp, {
    ...developer,
    selling: { pricing: pricing({ in_force: oneTime('20') }) },
  });
  await page.getByRole('button', { name: 'Change price' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByLabel('Price in SKT')).toHaveValue('20');
  await dialog.getByLabel('Price in SKT').fill('0.5');
  await dialog.getByLabel('Share 1').fill('90');
  await dialog.getByLabel('Beneficiary 2 (DID)').fill(user.did);
  await dialog.getByRole('button', { name: 'Propose price' }).click();
  await expect(dialog.getByText('Enter a price between 1 and 10,000.')).toBeVisible();
  await expect(dialog.getByText('This beneficiary already has a share.')).toBeVisible();
  await expect(dialog.getByText('The shares can add up to at most 85%.')).toBeVisible();
  expect(sent(recorded, 'PUT')).toEqual([]);
  await dialog.getByLabel('Price in SKT').fill('25');
  await dialog.getByRole('button', { name: 'Remove beneficiary 2' }).click();
  await dialog.getByLabel('Share 1').fill('85');
  await dialog.getByRole('button', { name: 'Propose price' }).click();
  await expect(dialog).toHaveCount(0);
  expect(sent(recorded, 'PUT')).toEqual([
    { type: 'one_time', currency_id: skt.id, amount: '25', shares: [{ beneficiary: user.did, percent: '85' }] },
  ]);
});

test('a refused price stays in the dialog', async ({ page }) => {
  await open(page, ownApp, {
    ...developer,
    selling: {
      pricing: pricing({ in_force: oneTime('20'), waits_for_version: false }),
      refusals: [{ code: 'PRICE_UNDER_REVIEW', error: 'A version is under review' }],
    },
  });
  await page.getByRole('button', { name: 'Change price' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Free', { exact: true }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog.getByRole('alert')).toContainText('A version of this app is under review');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByText('Automatic publishing was turned off because of the new price.')).toBeVisible();
});

test('a price cannot change during a review, or where paid apps are not allowed', async ({ page }) => {
  await open(page, ownApp, { ...developer, selling: { pricing: pricing({ under_review: true }) } });
  await expect(page.getByRole('button', { name: 'Change price' })).toBeDisabled();
  await open(page, ownApp, { ...developer, selling: { pricing: pricing({ paid_apps_allowed: false }) } });
  await expect(page.getByText('This store sells no paid apps at the moment.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Change price' })).toHaveCount(0);
});

test('a payout needs a note and at most what is payable, and a recent sign-in', async ({ page }) => {
  await open(page, '/console/payables', {
    role: 'owner',
    needSignIn: [`POST /console/payables/${PARTNER}/${skt.id}/payouts`],
    selling: { refusals: [{ code: 'PAYOUT_CHANGED', error: 'Another payout was recorded' }] },
  });
  await page.getByRole('button', { name: 'Record payout' }).click();
  const dialog = page.getByRole('dialog', { name: 'Record payout' });
  await dialog.getByLabel('Amount in SKT').fill('32');
  await dialog.getByRole('button', { name: 'Record payout' }).click();
  await expect(dialog.getByText('At most 31 SKT is payable.')).toBeVisible();
  await expect(dialog.getByText('Enter a note.')).toBeVisible();
  await dialog.getByLabel('Amount in SKT').fill('31');
  await dialog.getByLabel('Note').fill('Transfer 12');
  await dialog.getByRole('button', { name: 'Record payout' }).click();
  await expect(dialog.getByRole('button', { name: 'Sign in and continue' })).toBeVisible();
});

test('an owner takes back a payout that was recorded by mistake', async ({ page }) => {
  const recorded = await open(page, '/console/payables?payouts=true', {
    role: 'owner',
    selling: { refusals: [{ code: 'PAYOUT_REVERSED', error: 'This payout has been reversed' }] },
  });
  await page.getByRole('button', { name: 'Reverse payout' }).click();
  const dialog = page.getByRole('dialog', { name: 'Reverse payout' });
  await dialog.getByRole('button', { name: 'Reverse payout' }).click();
  await expect(dialog.getByText('Enter a note.')).toBeVisible();
  await dialog.getByLabel('Note').fill('Wrong account');
  await dialog.getByRole('button', { name: 'Reverse payout' }).click();
  await expect(dialog.getByRole('alert')).toContainText('This payout has been reversed.');
  await dialog.getByRole('button', { name: 'Reverse payout' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByText('−10 SKT')).toBeVisible();
  await expect(page.getByText('Reversed', { exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Reverse payout' })).toHaveCount(0);
  expect(sent(recorded, 'POST').at(-1)).toEqual({ reason: 'Wrong account' });
});

test('a developer withdraws a new price, also while a version is under review', async ({ page }) => {
  await open(page, ownApp, {
    ...developer,
    selling: { pricing: pricing({ proposed: oneTime('20'), under_review: true }) },
  });
  await expect(page.getByText('20 SKT, once')).toBeVisible();
  await page.getByRole('button', { name: 'Withdraw new price' }).click();
  await expect(page.getByText('20 SKT, once')).toHaveCount(0);
  await expect(page.getByRole('heading', { level: 2, name: 'Price' })).toBeFocused();
});

test('a payout that was refused is sent unchanged until its dialog is opened again', async ({ page }) => {
  const refusal = { code: 'PAYOUT_CHANGED', error: 'Another payout was recorded' };
  const recorded = await open(page, '/console/payables', { role: 'owner', selling: { refusals: [refusal, refusal] } });
  await page.getByRole('button', { name: 'Record payout' }).click();
  const dialog = page.getByRole('dialog', { name: 'Record payout' });
  await dialog.getByLabel('Amount in SKT').fill('5');
  await dialog.getByLabel('Note').fill('Transfer 12');
  await dialog.getByRole('button', { name: 'Record payout' }).click();
  await expect(dialog.getByRole('alert')).toContainText('Another payout was recorded meanwhile.');
  // The list behind the dialog shows the other payout.
  await expect(page.getByText('30 SKT')).toBeVisible();
  await dialog.getByRole('button', { name: 'Record payout' }).click();
  await expect.poll(() => sent(recorded, 'POST').length).toBe(2);
  const body = { amount: units('5'), paid_before: units('10'), reason: 'Transfer 12' };
  expect(sent(recorded, 'POST')).toEqual([body, body]);
});

test('administrators who are no owners see no payables', async ({ page }) => {
  await open(page, '/console/payables', { role: 'admin' });
  await expect(page.getByText('This page is for owners of the store')).toBeVisible();
});
