import { expect, type Page, test } from '@playwright/test';
import type { InvoiceDetail, Subscription } from '../src/api/types';
import { expectAccessible } from './fixtures/axe';
import { type BillingState, byCard, invoicesOf, NOW, subscription, unpaid } from './fixtures/billing';
import { looks, wear } from './fixtures/look';
import { type Seen, serve } from './fixtures/server';

const customer = { id: 'cus_1', did: 'z1Somebody', name: 'Ada Park', email: 'ada@example.com' };
const theirs = (changes = {}) => subscription({ customer, ...changes });

/** An administrator on the console's page of a customer's subscription. */
async function begin(page: Page, changes = {}, more: Partial<BillingState> = {}): Promise<Seen> {
  await page.clock.setFixedTime(NOW * 1000);
  const seen = await serve(page, {
    signedIn: true,
    role: 'owner',
    billing: { subscriptions: [theirs(changes)], ...more },
  });
  await page.goto('/console/subscriptions/sub_active');
  return seen;
}

const last = (seen: Seen, path: RegExp) => seen.calls.filter((call) => path.test(`${call.method} ${call.path}`)).at(-1);
const dialog = (page: Page) => page.getByRole('dialog');
const admin = (page: Page) => page.getByRole('region', { name: 'Admin actions' });
const press = (page: Page, name: string) => admin(page).getByRole('button', { name, exact: true }).click();

test.beforeEach(({ page }) => wear(page));

test("a customer's subscription offers what the store can do, and nothing that needs their wallet", async ({
  page,
}) => {
  await begin(page, { status: 'past_due', past_due_since: NOW - 86_400 });
  await expect(admin(page)).toContainText('This subscription belongs to Ada Park · ada@example.com.');
  await expect(admin(page).getByRole('button')).toHaveText([
    'Pause',
    'Forfeit deposit',
    'Cancel subscription',
    'Refund',
  ]);
  await expect(page.getByRole('button', { name: /^Pay|Change/ })).toHaveCount(0);
});

test("the customer's address of a subscription leads administrators to the console, and customers back", async ({
  page,
}) => {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'admin', billing: { subscriptions: [theirs()] } });
  await page.goto('/customer/subscription/sub_active');
  await expect(page).toHaveURL('/console/subscriptions/sub_active');
  await expect(admin(page)).toBeVisible();
  await serve(page, { signedIn: true, billing: {} });
  await page.goto('/console/subscriptions/sub_active');
  await expect(page).toHaveURL('/customer/subscription/sub_active');
  await expect(page.getByRole('button', { name: 'Change payment method' })).toBeVisible();
});

test('their own subscription they manage as its customer', async ({ page }) => {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'owner', billing: {} });
  await page.goto('/customer/subscription/sub_active');
  await expect(page.getByRole('button', { name: 'Change payment method' })).toBeVisible();
  await expect(admin(page)).toHaveCount(0);
});

test('an unpaid invoice of a customer is theirs to pay', async ({ page }) => {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'owner', billing: {} });
  await page.route(/\/api\/invoices\/in_due1\?/, (route) => route.fulfill({ json: { ...unpaid, customer } }));
  await page.goto('/customer/invoice/in_due1?action=pay');
  await expect(page).toHaveURL('/console/invoices/in_due1');
  await expect(page.getByText('Only the customer can pay it, with their wallet or card.')).toBeVisible();
  await expect(page.getByRole('button', { name: /^Pay/ })).toHaveCount(0);
});

test.describe('cancelling for a customer', () => {
  test('at the end of the period moves no money', async ({ page }) => {
    const seen = await begin(page);
    await press(page, 'Cancel subscription');
    await expect(dialog(page).getByRole('radio')).toHaveCount(3);
    await expect(dialog(page)).toContainText('Nov 30, 2026. The customer is not charged again.');
    await dialog(page)
      .getByLabel(/^Reason/)
      .fill('Asked for by mail');
    await dialog(page).getByRole('button', { name: 'Cancel at period end' }).click();
    await expect(admin(page)).toContainText('Subscription canceled.');
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
    await press(page, 'Cancel subscription');
    await dialog(page).getByRole('radio', { name: /^Now/ }).check();
    await dialog(page).getByRole('radio', { name: 'Refund the unused time' }).check();
    await dialog(page).getByRole('radio', { name: 'Forfeit all of it' }).check();
    await dialog(page).getByRole('button', { name: 'Cancel now and forfeit 5 SKT' }).click();
    const reason = dialog(page).getByLabel('Reason for forfeiting the deposit');
    await expect(reason).toBeFocused();
    await expect(reason).toHaveAccessibleDescription(/Enter a reason\./);
    expect(last(seen, /PUT .*cancel/)).toBeUndefined();
    await reason.fill('Broke the rules');
    await dialog(page).getByRole('button', { name: 'Cancel now and forfeit 5 SKT' }).click();
    await expect(admin(page)).toContainText('Subscription canceled.');
    expect(last(seen, /PUT .*cancel/)?.body).toEqual({
      at: 'now',
      refund: 'proration',
      staking: 'slash',
      slashReason: 'Broke the rules',
      comment: 'Broke the rules',
    });
  });

  test('on a date requires a future one', async ({ page }) => {
    const seen = await begin(page);
    await press(page, 'Cancel subscription');
    await dialog(page)
      .getByRole('radio', { name: /^On a date/ })
      .check();
    const when = dialog(page).getByRole('textbox', { name: 'Date and time' });
    await dialog(page).getByRole('button', { name: 'Cancel on this date' }).click();
    await expect(when).toHaveAccessibleDescription(/Choose a future date and time/);
    await when.fill('2026-12-24 12:00');
    await when.press('Enter');
    await dialog(page).getByRole('button', { name: 'Cancel on this date' }).click();
    await expect(admin(page)).toContainText('Subscription canceled.');
    const body = last(seen, /PUT .*cancel/)?.body as { time: number };
    expect(body).toMatchObject({ at: 'custom', refund: 'none', staking: 'none' });
    expect(body.time).toBe(await page.evaluate(() => new Date('2026-12-24T12:00').getTime() / 1000));
  });

  test('can be taken back, unless only their wallet can', async ({ page }) => {
    const ends = { cancel_at_period_end: true, cancel_at: subscription().current_period_end };
    const seen = await begin(page, ends);
    await press(page, 'Undo cancellation');
    await dialog(page).getByRole('button', { name: 'Undo cancellation' }).click();
    await expect(admin(page)).toContainText('Cancellation undone.');
    expect(last(seen, /PUT .*recover/)).toBeTruthy();
    await begin(page, ends);
    await page.route(/\/recover\?/, (route) => route.fulfill({ json: { subscription: {}, needStake: true } }));
    await press(page, 'Undo cancellation');
    await dialog(page).getByRole('button', { name: 'Undo cancellation' }).click();
    await expect(dialog(page).getByRole('alert')).toContainText('Only the customer can resume the subscription');
  });
});

test('pausing and resuming are each a yes away', async ({ page }) => {
  const seen = await begin(page);
  await press(page, 'Pause');
  await expect(dialog(page)).toContainText('The customer is not charged until you resume the subscription.');
  await dialog(page).getByRole('button', { name: 'Pause', exact: true }).click();
  await expect(admin(page)).toContainText('Subscription paused. The customer is not charged until you resume it.');
  await press(page, 'Resume');
  await dialog(page).getByRole('button', { name: 'Resume', exact: true }).click();
  await expect(admin(page)).toContainText('Subscription resumed.');
  expect(seen.calls.filter(({ method }) => method === 'PUT').map(({ path }) => path)).toEqual([
    '/subscriptions/sub_active/pause',
    '/subscriptions/sub_active/resume',
  ]);
});

test('billing that is on hold says why and can be resumed', async ({ page }) => {
  const seen = await begin(page, { on_hold: true, on_hold_reason: 'currency_not_configured' });
  await expect(admin(page)).toContainText('Billing of this subscription is on hold');
  await expect(admin(page)).toContainText('One of its prices has no amount in SKT');
  await press(page, 'Resume billing');
  await dialog(page).getByRole('button', { name: 'Resume billing' }).click();
  await expect(admin(page)).toContainText('Billing resumed.');
  await expect(admin(page)).not.toContainText('is on hold');
  expect(last(seen, /PUT .*resume-billing/)).toBeTruthy();
});

test('a deposit is forfeited only after a confirmation that names the amount', async ({ page }) => {
  const seen = await begin(page);
  await press(page, 'Forfeit deposit');
  const amount = dialog(page).getByLabel('Amount in SKT');
  await expect(amount).toHaveValue('5');
  await amount.fill('6');
  await dialog(page).getByRole('button', { name: 'Continue' }).click();
  await expect(amount).toHaveAccessibleDescription(/Enter at most 5 SKT/);
  await amount.fill('2.5');
  await dialog(page).getByLabel('Reason for forfeiting the deposit').fill('Never gave the book back');
  await dialog(page).getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('dialog', { name: 'Forfeit 2.5 SKT?' })).toContainText(
    '2.5 SKT of the deposit of Ada Park',
  );
  expect(last(seen, /slash/)).toBeUndefined();
  await dialog(page).getByRole('button', { name: 'Forfeit 2.5 SKT' }).click();
  await expect(admin(page)).toContainText('The deposit is being forfeited.');
  expect(last(seen, /PUT .*slash-stake/)?.body).toEqual({ amount: '2.5', reason: 'Never gave the book back' });
});

test('a deposit that waits after the end is returned at once', async ({ page }) => {
  const staking = { ...subscription().staking, status: 'waiting', return_at: NOW + 86_400 };
  const seen = await begin(page, { status: 'canceled', ended_at: NOW - 60, canceled_at: NOW - 60, staking });
  await press(page, 'Return deposit now');
  await expect(dialog(page)).toContainText('5 SKT is returned to the customer now instead of on Nov 21, 2026.');
  await dialog(page).getByRole('button', { name: 'Return deposit now' }).click();
  await expect(admin(page)).toContainText('The deposit is being returned.');
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

test.describe('a refund of the last payment', () => {
  /** On its page, with `paid` above the renewals of the subscription. */
  async function beginWith(page: Page, paid: Partial<InvoiceDetail>, byBalance = '0'): Promise<Seen> {
    const [renewal, ...others] = invoicesOf(theirs());
    const newest = { ...renewal, id: 'in_newest', number: 'SOUK-0031', ...paid };
    const refundable = { in_newest: { amount: '5000000000000000000', to_balance: byBalance } };
    await page.clock.setFixedTime(NOW * 1000);
    const seen = await serve(page, {
      signedIn: true,
      role: 'owner',
      billing: { subscriptions: [theirs()], refundable },
    });
    const list = [newest, renewal, ...others];
    await page.route(/\/api\/invoices\?/, (route) => route.fulfill({ json: { count: list.length, list } }));
    await page.route(/\/api\/invoices\/in_newest\?/, (route) => route.fulfill({ json: newest }));
    await page.goto('/console/subscriptions/sub_active');
    return seen;
  }

  test('is of what the store got: funds that were added are none of it', async ({ page }) => {
    await beginWith(page, { billing_reason: 'recharge', paymentIntent: null });
    await press(page, 'Refund');
    await expect(page.getByRole('dialog', { name: 'Refund invoice SOUK-0021' })).toBeVisible();
  });

  test('of a renewal that the balance paid is balance again at once', async ({ page }) => {
    const all = '5000000000000000000';
    const seen = await beginWith(page, { applied_credit: all, paymentIntent: null }, all);
    await press(page, 'Refund');
    await expect(page.getByRole('dialog', { name: 'Refund invoice SOUK-0031' })).toBeVisible();
    await expect(dialog(page).getByLabel('Amount in SKT')).toHaveValue('5');
    await expect(dialog(page).getByRole('region', { name: 'Preview' })).toContainText(
      'Added to the account balance5 SKT',
    );
    await dialog(page).getByRole('button', { name: 'Refund 5 SKT' }).click();
    await expect(page.locator('#announcer')).toHaveText('Added to the account balance.');
    expect(last(seen, /POST .*credit-notes$/)?.body).toEqual({
      invoice_id: 'in_newest',
      items: [{ invoice_item_id: 'ii_0', amount: '5', revokes: false }],
      reason: 'other',
      to: 'refund',
    });
    await expect(admin(page).getByRole('button', { name: 'Refund' })).toHaveCount(0);
  });
});

test('a card that has expired is told without asking the store for another one', async ({ page }) => {
  const mandate = { ...byCard.mandate, exp_month: 10, exp_year: 2026 } as Subscription['mandate'];
  await begin(page, { mandate });
  await expect(page.getByText('The card for Chorus Pro has expired')).toBeVisible();
  await expect(page.getByText('Only the customer can change the payment method')).toBeVisible();
  await expect(page.getByText(/Change the payment method to avoid/)).toHaveCount(0);
});

const screens: [name: string, changes: object, open?: string][] = [
  ['the actions', {}],
  [
    'the actions on one that is on hold',
    { on_hold: true, on_hold_reason: 'price_missing', status: 'past_due', past_due_since: NOW - 60 },
  ],
  ['the cancel dialog', {}, 'cancel'],
  ['the deposit dialog', {}, 'forfeit'],
  ['the pause dialog', {}, 'pause'],
];
const BUTTONS: Record<string, RegExp> = {
  cancel: /^(Cancel subscription|取消订阅)$/,
  forfeit: /^(Forfeit deposit|扣除押金)$/,
  pause: /^(Pause|暂停)$/,
};

for (const [name, changes, open] of screens) {
  for (const look of looks) {
    test(`${name} of the console have no accessibility fault in ${look.locale}, ${look.scheme}`, async ({ page }) => {
      await wear(page, look);
      await begin(page, changes);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await expect(page.getByRole('button', { name: /^(Refund|退款)$/ })).toBeVisible();
      if (open) {
        await page.getByRole('button', { name: BUTTONS[open] }).click();
        if (open === 'cancel') {
          await dialog(page)
            .getByRole('radio', { name: /^(Now|立即)/ })
            .check();
          await dialog(page)
            .getByRole('radio', { name: /(Forfeit all|全部扣除)/ })
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
