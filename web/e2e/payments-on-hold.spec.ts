import { expect, type Page, test } from '@playwright/test';
import type { PaymentOnHold, TransferOnHold } from '../src/api/types';
import { expectAccessible } from './fixtures/axe';
import { NOW } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { forfeited, HASH, less, more, nothingLeft, refunded, returned } from './fixtures/on-hold';
import { type ServerOptions, serve } from './fixtures/server';

async function openTransfers(page: Page, transfersOnHold: TransferOnHold[], options: ServerOptions = {}, display = {}) {
  return open(page, [], { billing: { transfersOnHold }, ...options }, display);
}

async function open(page: Page, paymentsOnHold: PaymentOnHold[], options: ServerOptions = {}, display = {}) {
  await applyDisplaySettings(page, display);
  await page.clock.setFixedTime(NOW * 1000);
  const recorded = await serve(page, { signedIn: true, role: 'owner', billing: { paymentsOnHold }, ...options });
  await page.goto('/console/on-hold#payments');
  return recorded;
}

const section = (page: Page) => page.getByRole('region', { name: /^Payments on hold$|^待处理的付款$/ });
const transfers = (page: Page) =>
  page.getByRole('region', { name: /^Refunds and deposits on hold$|^待处理的退款和押金$/ });
const decideTransfer = (page: Page) => transfers(page).getByRole('button', { name: /^Decide$|^处理$/ });
const decide = (page: Page) => section(page).getByRole('button', { name: /^Decide$|^处理$/ });

async function shoot(page: Page, name: string) {
  if (!process.env.SHOTS) return;
  const scheme = await page.evaluate(() => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
  const locale = await page.evaluate(() => document.documentElement.lang);
  await page.screenshot({
    path: `${process.env.SHOTS}/${name}-${locale}-${scheme}-${test.info().project.name}.png`,
    fullPage: true,
  });
}

for (const display of displaySettings) {
  test(`an owner pays the invoices with a payment on hold, in ${display.locale}, ${display.scheme}`, async ({
    page,
  }) => {
    const recorded = await open(page, [more, less], {}, display);
    await expect(section(page).getByText('SOUK-0012')).toBeVisible();
    await expect(
      section(page)
        .getByRole('link', { name: /View transaction|查看交易/ })
        .first(),
    ).toHaveAttribute('href', new RegExp(`/txs/${HASH}$`));
    await expectAccessible(page);
    await shoot(page, 'payments-on-hold');
    await decide(page).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: /^Resolve$|^确认处理$/ }).click();
    await expect(dialog.getByText(/Choose where the money should go|请选择款项的去向/)).toBeVisible();
    await dialog.getByRole('radio', { name: /To its invoices|支付对应账单/ }).check();
    await expectAccessible(page);
    await shoot(page, 'resolve-payment');
    await dialog.getByRole('button', { name: /^Resolve$|^确认处理$/ }).click();
    await expect(dialog).toHaveCount(0);
    await expect(section(page).getByRole('status')).toContainText(
      /5 SKT was applied to the invoices, and 2 SKT was added|已将 5 SKT 用于支付账单，其余 2 SKT 已转入客户余额/,
    );
    await expect(decide(page)).toHaveCount(1);
    await expectAccessible(page);
    await shoot(page, 'payment-resolved');
    const post = recorded.calls.find(({ method }) => method === 'POST');
    expect(post).toMatchObject({ path: '/payment-intents/pi_more/resolve', body: { to: 'invoice' } });
  });
}

test('money on hold for a draft goes to the balance, less what was refunded meanwhile', async ({ page }) => {
  await open(page, [less]);
  await decide(page).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByText(/of it has been refunded at the payment provider/)).toBeVisible();
  await expect(dialog.getByRole('radio', { name: /To its invoices/ })).toBeDisabled();
  await expect(dialog.getByText('No invoice of this payment can be paid at the moment.')).toBeVisible();
  await dialog.getByRole('radio', { name: /^To the customer's balance/ }).check();
  await dialog.getByRole('button', { name: 'Resolve' }).click();
  await expect(
    page.getByRole('status').filter({ hasText: /\$8\.00 was added to the customer's balance/ }),
  ).toBeVisible();
  await expect(decide(page)).toHaveCount(0);
});

test('a refund of a payment on hold needs a recent sign-in and then continues', async ({ page }) => {
  const needSignIn = ['POST /payment-intents/pi_more/resolve'];
  const recorded = await open(page, [more], { needSignIn });
  await decide(page).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('radio', { name: /Back to the payer/ }).check();
  await dialog.getByRole('button', { name: 'Refund' }).click();
  await dialog.getByRole('alert').getByRole('button').click();
  await expect(page.getByRole('status').filter({ hasText: 'The refund of 7 SKT is being processed.' })).toBeVisible();
  const posts = recorded.calls.filter(({ path }) => path === '/payment-intents/pi_more/resolve');
  expect(posts.map(({ body }) => body)).toEqual([{ to: 'refund' }, { to: 'refund' }]);
});

test('a payment that was resolved elsewhere says so', async ({ page }) => {
  const recorded = await open(page, [more]);
  await decide(page).click();
  recorded.billing.paymentsOnHold = [];
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('radio', { name: /^To the customer's balance/ }).check();
  await dialog.getByRole('button', { name: 'Resolve' }).click();
  await expect(dialog.getByRole('alert')).toContainText('This payment is not on hold.');
});

test('a payment on hold without money asks no question', async ({ page }) => {
  const recorded = await open(page, [nothingLeft]);
  await decide(page).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByText('No money is left to move.')).toBeVisible();
  await expect(dialog.getByRole('radio')).toHaveCount(0);
  await dialog.getByRole('button', { name: 'Resolve' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'The payment is no longer on hold.' })).toBeVisible();
  expect(recorded.calls.find(({ method }) => method === 'POST')?.body).toEqual({});
});

test('the health of the store leads to the payments on hold, on a phone too', async ({ page }) => {
  const findings = [{ code: 'held_payments', severity: 'error', params: { count: '1' } }];
  await applyDisplaySettings(page);
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'owner', billing: { paymentsOnHold: [more], findings } as never });
  await page.goto('/console/doctor');
  await page.getByRole('link', { name: 'Show payments on hold' }).click();
  const heading = page.getByRole('heading', { name: 'Payments on hold' });
  await expect(heading).toBeInViewport();
  const coveredBy = async () => {
    const [header, title] = await Promise.all([page.getByRole('banner').boundingBox(), heading.boundingBox()]);
    return header && title ? header.y + header.height - title.y : Number.NaN;
  };
  await expect.poll(coveredBy, 'the header covers the heading').toBeLessThanOrEqual(0);
});

test('nothing is shown if no payment is on hold, and a failure can be retried', async ({ page }) => {
  await open(page, []);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Payments on hold' })).toHaveCount(0);
  await open(page, [], { failing: { '/payment-intents/on-hold': 500 } });
  await page.reload();
  await expect(page.getByText("The payments on hold couldn't be loaded")).toBeVisible();
});

for (const display of displaySettings) {
  test(`an owner decides about a deposit on hold, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    const recorded = await openTransfers(page, [returned, forfeited, refunded], {}, display);
    await expect(transfers(page)).toContainText(/Deposit return|退还押金/);
    await expectAccessible(page);
    await shoot(page, 'transfers-on-hold');
    await decideTransfer(page).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: /^Resolve$|^确认处理$/ }).click();
    await expect(dialog.getByText(/Choose what should happen|请选择处理方式/)).toBeVisible();
    await dialog.getByRole('radio', { name: /Send the rest|重新转出差额/ }).check();
    await expectAccessible(page);
    await shoot(page, 'resolve-transfer');
    await dialog.getByRole('button', { name: /^Resolve$|^确认处理$/ }).click();
    await expect(dialog).toHaveCount(0);
    await expect(transfers(page).getByRole('status')).toContainText(
      /3 SKT was recorded. 2 SKT is being sent|已入账 3 SKT，2 SKT 正在重新转出/,
    );
    await expect(decideTransfer(page)).toHaveCount(2);
    const post = recorded.calls.find(({ method }) => method === 'POST');
    expect(post).toMatchObject({ path: '/transfers/att_returned/resolve', body: { decision: 'retry' } });
  });
}

test('what was forfeited beyond the order is no revenue unless the owner says so', async ({ page }) => {
  const recorded = await openTransfers(page, [forfeited]);
  await decideTransfer(page).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('radio', { checked: true })).toHaveCount(0);
  await expect(dialog.getByRole('radio')).toHaveCount(2);
  await dialog.getByRole('radio', { name: /^Add the excess to the customer's balance/ }).check();
  await dialog.getByRole('button', { name: 'Resolve' }).click();
  const added = "7 SKT was recorded. 2 SKT was added to the customer's balance.";
  await expect(page.getByRole('status').filter({ hasText: added })).toBeVisible();
  expect(recorded.calls.find(({ method }) => method === 'POST')?.body).toEqual({ decision: 'balance' });
});

test('a refund of more than was ordered is recorded without a question', async ({ page }) => {
  const recorded = await openTransfers(page, [refunded]);
  await decideTransfer(page).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByText('The $3.00 sent in excess is recorded in suspense.')).toBeVisible();
  await expect(dialog.getByRole('radio')).toHaveCount(0);
  await shoot(page, 'resolve-excess-refund');
  await dialog.getByRole('button', { name: 'Resolve' }).click();
  const recordedText = '$12.99 was recorded. $3.00 of it is in suspense.';
  await expect(page.getByRole('status').filter({ hasText: recordedText })).toBeVisible();
  expect(recorded.calls.find(({ method }) => method === 'POST')?.body).toEqual({ decision: 'record' });
});

test('a transfer that was resolved elsewhere says so', async ({ page }) => {
  const recorded = await openTransfers(page, [forfeited]);
  await decideTransfer(page).click();
  recorded.billing.transfersOnHold = [];
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('radio', { name: /^Keep the excess as revenue/ }).check();
  await dialog.getByRole('button', { name: 'Resolve' }).click();
  await expect(dialog.getByRole('alert')).toContainText('This transfer is not on hold.');
});

test('the health of the store leads to the transfers on hold', async ({ page }) => {
  const findings = [{ code: 'held_transfers', severity: 'error', params: { count: '1' } }];
  await applyDisplaySettings(page);
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'owner', billing: { transfersOnHold: [refunded], findings } as never });
  await page.goto('/console/doctor');
  await page.getByRole('link', { name: 'Show what is on hold' }).click();
  await expect(page.getByRole('heading', { name: 'Refunds and deposits on hold' })).toBeInViewport();
});
