import { expect, type Page, test } from '@playwright/test';
import type { InvoiceDetail, Subscription } from '../src/api/types';
import { expectAccessible } from './fixtures/axe';
import { type BillingState, byCard, invoicesOf, NOW, subscription, unpaid } from './fixtures/billing';
import { looks, wear } from './fixtures/look';
import { type Seen, serve } from './fixtures/server';

const customer = { id: 'cus_1', did: 'z1Somebody', name: 'Ada Park', email: 'ada@example.com' };
const theirs = (changes = {}) => subscription({ customer, ...changes });

/** Somebody who runs the store, on the page of a customer's subscription. */
async function begin(page: Page, changes = {}, more: Partial<BillingState> = {}): Promise<Seen> {
  await page.clock.setFixedTime(NOW * 1000);
  const seen = await serve(page, {
    signedIn: true,
    role: 'owner',
    billing: { subscriptions: [theirs(changes)], ...more },
  });
  await page.goto('/customer/subscription/sub_active');
  return seen;
}

const last = (seen: Seen, path: RegExp) => seen.calls.filter((call) => path.test(`${call.method} ${call.path}`)).at(-1);
const dialog = (page: Page) => page.getByRole('dialog');
const office = (page: Page) => page.getByRole('region', { name: 'For the store' });
const press = (page: Page, name: string) => office(page).getByRole('button', { name, exact: true }).click();

test.beforeEach(({ page }) => wear(page));

test("a customer's subscription offers what the store can do, and nothing that needs their wallet", async ({
  page,
}) => {
  await begin(page, { status: 'past_due', past_due_since: NOW - 86_400 });
  await expect(office(page)).toContainText('This subscription belongs to Ada Park · ada@example.com.');
  await expect(office(page).getByRole('button')).toHaveText([
    'Pause',
    'Take the stake',
    'Cancel for the customer',
    'Give money back',
  ]);
  await expect(page.getByRole('button', { name: /^Pay|Change/ })).toHaveCount(0);
});

test('their own subscription they manage as its customer', async ({ page }) => {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'owner', billing: {} });
  await page.goto('/customer/subscription/sub_active');
  await expect(page.getByRole('button', { name: 'Change payment method' })).toBeVisible();
  await expect(office(page)).toHaveCount(0);
});

test('an unpaid invoice of a customer is theirs to pay', async ({ page }) => {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'owner', billing: {} });
  await page.route(/\/api\/invoices\/in_due1\?/, (route) => route.fulfill({ json: { ...unpaid, customer } }));
  await page.goto('/customer/invoice/in_due1?action=pay');
  await expect(page.getByText('only their wallet or card can pay')).toBeVisible();
  await expect(page.getByRole('button', { name: /^Pay/ })).toHaveCount(0);
});

test.describe('cancelling for a customer', () => {
  test('at the end of the period moves no money', async ({ page }) => {
    const seen = await begin(page);
    await press(page, 'Cancel for the customer');
    await expect(dialog(page).getByRole('radio')).toHaveCount(3);
    await expect(dialog(page)).toContainText('Nov 30, 2026. Nothing is charged after that.');
    await dialog(page)
      .getByLabel(/^Reason/)
      .fill('Asked for by mail');
    await dialog(page).getByRole('button', { name: 'Cancel at period end' }).click();
    await expect(office(page)).toContainText('Cancelled by the store.');
    expect(last(seen, /PUT .*cancel/)?.body).toEqual({
      at: 'current_period_end',
      refund: 'none',
      staking: 'none',
      comment: 'Asked for by mail',
    });
    await expect(page.getByText('Ends on Nov 30, 2026').first()).toBeVisible();
  });

  test('now decides what becomes of the last payment and of the stake, and names what is taken', async ({ page }) => {
    const seen = await begin(page);
    await press(page, 'Cancel for the customer');
    await dialog(page).getByRole('radio', { name: /^Now/ }).check();
    await dialog(page).getByRole('radio', { name: 'What the rest of the period is worth' }).check();
    await dialog(page).getByRole('radio', { name: 'The store takes all of it' }).check();
    await dialog(page).getByRole('button', { name: 'Cancel now and take 5 SKT' }).click();
    const reason = dialog(page).getByLabel('Why the stake is taken');
    await expect(reason).toBeFocused();
    await expect(reason).toHaveAccessibleDescription(/Say why\./);
    expect(last(seen, /PUT .*cancel/)).toBeUndefined();
    await reason.fill('Broke the rules');
    await dialog(page).getByRole('button', { name: 'Cancel now and take 5 SKT' }).click();
    await expect(office(page)).toContainText('Cancelled by the store.');
    expect(last(seen, /PUT .*cancel/)?.body).toEqual({
      at: 'now',
      refund: 'proration',
      staking: 'slash',
      slashReason: 'Broke the rules',
      comment: 'Broke the rules',
    });
  });

  test('at a time wants one that is still to come', async ({ page }) => {
    const seen = await begin(page);
    await press(page, 'Cancel for the customer');
    await dialog(page)
      .getByRole('radio', { name: /^At a time/ })
      .check();
    const when = dialog(page).getByLabel('When', { exact: true });
    await when.fill('2026-11-19T09:30');
    await dialog(page).getByRole('button', { name: 'Cancel at this time' }).click();
    await expect(when).toHaveAccessibleDescription(/still to come/);
    await when.fill('2026-12-24T12:00');
    await dialog(page).getByRole('button', { name: 'Cancel at this time' }).click();
    await expect(office(page)).toContainText('Cancelled by the store.');
    const body = last(seen, /PUT .*cancel/)?.body as { time: number };
    expect(body).toMatchObject({ at: 'custom', refund: 'none', staking: 'none' });
    expect(body.time).toBe(await page.evaluate(() => new Date('2026-12-24T12:00').getTime() / 1000));
  });

  test('can be taken back, unless only their wallet can', async ({ page }) => {
    const ends = { cancel_at_period_end: true, cancel_at: subscription().current_period_end };
    const seen = await begin(page, ends);
    await press(page, 'Take the cancellation back');
    await dialog(page).getByRole('button', { name: 'Take the cancellation back' }).click();
    await expect(office(page)).toContainText('It renews as before.');
    expect(last(seen, /PUT .*recover/)).toBeTruthy();
    await begin(page, ends);
    await page.route(/\/recover\?/, (route) => route.fulfill({ json: { subscription: {}, needStake: true } }));
    await press(page, 'Take the cancellation back');
    await dialog(page).getByRole('button', { name: 'Take the cancellation back' }).click();
    await expect(dialog(page).getByRole('alert')).toContainText('Only the customer can resume it');
  });
});

test('pausing and resuming are each a yes away', async ({ page }) => {
  const seen = await begin(page);
  await press(page, 'Pause');
  await expect(dialog(page)).toContainText('Nothing is charged until you resume it.');
  await dialog(page).getByRole('button', { name: 'Pause', exact: true }).click();
  await expect(office(page)).toContainText('Paused. Nothing is charged until it is resumed.');
  await press(page, 'Resume');
  await dialog(page).getByRole('button', { name: 'Resume', exact: true }).click();
  await expect(office(page)).toContainText('Resumed.');
  expect(seen.calls.filter(({ method }) => method === 'PUT').map(({ path }) => path)).toEqual([
    '/subscriptions/sub_active/pause',
    '/subscriptions/sub_active/resume',
  ]);
});

test('one that the store has stopped with says so and can be let go on', async ({ page }) => {
  const seen = await begin(page, { parked: true, parked_reason: 'currency_not_configured' });
  await expect(office(page)).toContainText('The store has stopped with this subscription');
  await expect(office(page)).toContainText('A price of it has no amount in SKT, in which it is paid.');
  await press(page, 'Let it go on');
  await dialog(page).getByRole('button', { name: 'Let it go on' }).click();
  await expect(office(page)).toContainText('It goes on.');
  await expect(office(page)).not.toContainText('The store has stopped');
  expect(last(seen, /PUT .*unpark/)).toBeTruthy();
});

test('a stake is taken only after its amount was agreed to by name', async ({ page }) => {
  const seen = await begin(page);
  await press(page, 'Take the stake');
  const amount = dialog(page).getByLabel('Amount in SKT');
  await expect(amount).toHaveValue('5');
  await amount.fill('6');
  await dialog(page).getByRole('button', { name: 'Go on' }).click();
  await expect(amount).toHaveAccessibleDescription(/No more than 5 SKT/);
  await amount.fill('2.5');
  await dialog(page).getByLabel('Why the stake is taken').fill('Never gave the book back');
  await dialog(page).getByRole('button', { name: 'Go on' }).click();
  await expect(page.getByRole('dialog', { name: 'Take 2.5 SKT?' })).toContainText('2.5 SKT of the stake of Ada Park');
  expect(last(seen, /slash/)).toBeUndefined();
  await dialog(page).getByRole('button', { name: 'Take 2.5 SKT' }).click();
  await expect(office(page)).toContainText('The stake is being taken.');
  expect(last(seen, /PUT .*slash-stake/)?.body).toEqual({ amount: '2.5', reason: 'Never gave the book back' });
});

test('a stake that waits after the end goes back at once', async ({ page }) => {
  const staking = { ...subscription().staking, status: 'waiting', return_at: NOW + 86_400 };
  const seen = await begin(page, { status: 'canceled', ended_at: NOW - 60, canceled_at: NOW - 60, staking });
  await press(page, 'Return the stake now');
  await expect(dialog(page)).toContainText('5 SKT goes back to the customer now instead of on Nov 21, 2026.');
  await dialog(page).getByRole('button', { name: 'Return the stake now' }).click();
  await expect(office(page)).toContainText('The stake is on its way back.');
  expect(last(seen, /PUT .*return-stake/)).toBeTruthy();
});

test('what is refused is said in the dialog, in the language of the page', async ({ page }) => {
  await wear(page, { locale: 'zh' });
  await begin(page);
  await page.route(/\/pause\?/, (route) =>
    route.fulfill({
      status: 400,
      json: { error: 'a subscription that is canceled does not allow: Pause' },
    }),
  );
  await page.getByRole('button', { name: '暂停' }).click();
  await dialog(page).getByRole('button', { name: '暂停' }).click();
  await expect(dialog(page).getByRole('alert')).toContainText('订阅在当前状态下不允许此操作。');
});

test.describe('giving money back', () => {
  /** On its page, with `paid` above the renewals of the subscription. */
  async function beginWith(page: Page, paid: Partial<InvoiceDetail>): Promise<Seen> {
    const [renewal, ...others] = invoicesOf(theirs());
    const newest = { ...renewal, id: 'in_newest', number: 'SOUK-0031', ...paid };
    const refundable = { in_newest: { amount: '5000000000000000000', left: '5000000000000000000' } };
    await page.clock.setFixedTime(NOW * 1000);
    const seen = await serve(page, {
      signedIn: true,
      role: 'owner',
      billing: { subscriptions: [theirs()], refundable },
    });
    const list = [newest, renewal, ...others];
    await page.route(/\/api\/invoices\?/, (route) => route.fulfill({ json: { count: list.length, list } }));
    await page.route(/\/api\/invoices\/in_newest\?/, (route) => route.fulfill({ json: newest }));
    await page.goto('/customer/subscription/sub_active');
    return seen;
  }

  test('is of what the store got: funds that were added are none of it', async ({ page }) => {
    await beginWith(page, { billing_reason: 'recharge', paymentIntent: null });
    await press(page, 'Give money back');
    await expect(page.getByRole('dialog', { name: 'Refund invoice SOUK-0021' })).toBeVisible();
  });

  test('of a renewal that credit paid whole is credit again at once', async ({ page }) => {
    const applied_credit = '5000000000000000000';
    const seen = await beginWith(page, { total: '0', amount_paid: '0', applied_credit, paymentIntent: null });
    await press(page, 'Give money back');
    await expect(page.getByRole('dialog', { name: 'Refund invoice SOUK-0031' })).toBeVisible();
    await expect(dialog(page).getByLabel('Amount in SKT')).toHaveValue('5');
    await dialog(page).getByRole('button', { name: 'Refund 5 SKT' }).click();
    await expect(page.locator('#announcer')).toHaveText('It was given back and is credit with the store now.');
    expect(last(seen, /POST .*refunds/)?.body).toEqual({
      invoice_id: 'in_newest',
      amount: '5',
      reason: 'requested_by_customer',
    });
    await expect(office(page).getByRole('button', { name: 'Give money back' })).toHaveCount(0);
  });
});

test('a card that has expired is told without asking the store for another one', async ({ page }) => {
  const mandate = { ...byCard.mandate, exp_month: 10, exp_year: 2026 } as Subscription['mandate'];
  await begin(page, { mandate });
  await expect(page.getByText('The card that pays for Chorus Pro has expired')).toBeVisible();
  await expect(page.getByText('Only the customer can change the payment method')).toBeVisible();
  await expect(page.getByText(/^.*Change the payment method, so/)).toHaveCount(0);
});

const screens: [name: string, changes: object, open?: string][] = [
  ['the actions', {}],
  [
    'the actions on one that is parked',
    { parked: true, parked_reason: 'price_missing', status: 'past_due', past_due_since: NOW - 60 },
  ],
  ['the cancel dialog', {}, 'cancel'],
  ['the slash dialog', {}, 'slash'],
  ['the pause dialog', {}, 'pause'],
];
const BUTTONS: Record<string, RegExp> = {
  cancel: /^(Cancel for the customer|代为取消)$/,
  slash: /^(Take the stake|扣除质押)$/,
  pause: /^(Pause|暂停)$/,
};

for (const [name, changes, open] of screens) {
  for (const look of looks) {
    test(`${name} of the store have no accessibility fault in ${look.locale}, ${look.scheme}`, async ({ page }) => {
      await wear(page, look);
      await begin(page, changes);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await expect(page.getByRole('button', { name: /^(Give money back|退款)$/ })).toBeVisible();
      if (open) {
        await page.getByRole('button', { name: BUTTONS[open] }).click();
        if (open === 'cancel') {
          await dialog(page)
            .getByRole('radio', { name: /^(Now|立即)/ })
            .check();
          await dialog(page)
            .getByRole('radio', { name: /(takes all|全部扣除)/ })
            .check();
        }
      }
      await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
      await expectAccessible(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(
        0,
      );
    });
  }
}
