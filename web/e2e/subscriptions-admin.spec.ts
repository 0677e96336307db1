import { expect, type Page, test } from '@playwright/test';
import type { InvoiceDetail, Subscription } from '../src/api/types';
import { expectAccessible } from './fixtures/axe';
import { type BillingState, byCard, invoicesOf, NOW, subscription, unpaid } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { type Recorded, serve } from './fixtures/server';

const customer = { id: 'cus_1', did: 'z1Somebody', name: 'Ada Park', email: 'ada@example.com' };
const customerSubscription = (changes = {}) => subscription({ customer, ...changes });

/** Opens the console page of a customer's subscription as an administrator. */
async function openPage(page: Page, changes = {}, billing: Partial<BillingState> = {}): Promise<Recorded> {
  await page.clock.setFixedTime(NOW * 1000);
  const recorded = await serve(page, {
    signedIn: true,
    role: 'owner',
    billing: { subscriptions: [customerSubscription(changes)], ...billing },
  });
  await page.goto('/console/subscriptions/sub_active');
  return recorded;
}

const last = (recorded: Recorded, path: RegExp) =>
  recorded.calls.filter((call) => path.test(`${call.method} ${call.path}`)).at(-1);
const dialog = (page: Page) => page.getByRole('dialog');
const admin = (page: Page) => page.getByRole('region', { name: 'Admin actions' });
const press = (page: Page, name: string) => admin(page).getByRole('button', { name, exact: true }).click();

test.beforeEach(({ page }) => applyDisplaySettings(page));

test("a customer's subscription has only the actions of the store", async ({ page }) => {
  await openPage(page, { status: 'past_due', past_due_since: NOW - 86_400 });
  await expect(admin(page)).toContainText('This subscription belongs to Ada Park · ada@example.com.');
  await expect(admin(page).getByRole('button')).toHaveText([
    'Pause',
    'Forfeit deposit',
    'Cancel subscription',
    'Refund',
  ]);
  await expect(page.getByRole('button', { name: /^Pay|Change/ })).toHaveCount(0);
});

test('the customer URL of a subscription redirects administrators to the console, and the console URL redirects customers back', async ({
  page,
}) => {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'admin', billing: { subscriptions: [customerSubscription()] } });
  await page.goto('/customer/subscription/sub_active');
  await expect(page).toHaveURL('/console/subscriptions/sub_active');
  await expect(admin(page)).toBeVisible();
  await serve(page, { signedIn: true, billing: {} });
  await page.goto('/console/subscriptions/sub_active');
  await expect(page).toHaveURL('/customer/subscription/sub_active');
  await expect(page.getByRole('button', { name: 'Change payment method' })).toBeVisible();
});

test('administrators manage their own subscription as a customer', async ({ page }) => {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'owner', billing: {} });
  await page.goto('/customer/subscription/sub_active');
  await expect(page.getByRole('button', { name: 'Change payment method' })).toBeVisible();
  await expect(admin(page)).toHaveCount(0);
});

test('an unpaid invoice can only be paid by its customer', async ({ page }) => {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'owner', billing: {} });
  await page.route(/\/api\/invoices\/in_due1\?/, (route) => route.fulfill({ json: { ...unpaid, customer } }));
  await page.goto('/customer/invoice/in_due1?action=pay');
  await expect(page).toHaveURL('/console/invoices/in_due1');
  await expect(page.getByText('Only the customer can pay it, with their wallet or card.')).toBeVisible();
  await expect(page.getByRole('button', { name: /^Pay/ })).toHaveCount(0);
});

test.describe('canceling for a customer', () => {
  test('at the end of the period moves no money', async ({ page }) => {
    const recorded = await openPage(page);
    await press(page, 'Cancel subscription');
    await expect(dialog(page).getByRole('radio')).toHaveCount(3);
    await expect(dialog(page)).toContainText('Nov 30, 2026. The customer is not charged again.');
    await dialog(page)
      .getByLabel(/^Reason/)
      .fill('Asked for by mail');
    await dialog(page).getByRole('button', { name: 'Cancel at period end' }).click();
    await expect(admin(page)).toContainText('Subscription canceled.');
    expect(last(recorded, /PUT .*cancel/)?.body).toEqual({
      at: 'current_period_end',
      refund: 'none',
      staking: 'none',
      comment: 'Asked for by mail',
    });
    await expect(page.getByText('Ends on Nov 30, 2026').first()).toBeVisible();
  });

  test('now has options for the last payment and the deposit, and names the forfeited amount', async ({ page }) => {
    const recorded = await openPage(page);
    await press(page, 'Cancel subscription');
    await dialog(page).getByRole('radio', { name: /^Now/ }).check();
    await dialog(page).getByRole('radio', { name: 'Refund the unused time' }).check();
    await dialog(page).getByRole('radio', { name: 'Forfeit all of it' }).check();
    await dialog(page).getByRole('button', { name: 'Cancel now and forfeit 5 SKT' }).click();
    const reason = dialog(page).getByLabel('Reason for forfeiting the deposit');
    await expect(reason).toBeFocused();
    await expect(reason).toHaveAccessibleDescription(/Enter a reason\./);
    expect(last(recorded, /PUT .*cancel/)).toBeUndefined();
    await reason.fill('Broke the rules');
    await dialog(page).getByRole('button', { name: 'Cancel now and forfeit 5 SKT' }).click();
    await expect(admin(page)).toContainText('Subscription canceled.');
    expect(last(recorded, /PUT .*cancel/)?.body).toEqual({
      at: 'now',
      refund: 'proration',
      staking: 'slash',
      slashReason: 'Broke the rules',
      comment: 'Broke the rules',
    });
  });

  test('on a date requires a future one', async ({ page }) => {
    const recorded = await openPage(page);
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
    const body = last(recorded, /PUT .*cancel/)?.body as { time: number };
    expect(body).toMatchObject({ at: 'custom', refund: 'none', staking: 'none' });
    expect(body.time).toBe(await page.evaluate(() => new Date('2026-12-24T12:00').getTime() / 1000));
  });

  test('can be undone, unless it needs the customer’s wallet', async ({ page }) => {
    const ends = { cancel_at_period_end: true, cancel_at: subscription().current_period_end };
    const recorded = await openPage(page, ends);
    await press(page, 'Undo cancellation');
    await dialog(page).getByRole('button', { name: 'Undo cancellation' }).click();
    await expect(admin(page)).toContainText('Cancellation undone.');
    expect(last(recorded, /PUT .*recover/)).toBeTruthy();
    await openPage(page, ends);
    await page.route(/\/recover\?/, (route) => route.fulfill({ json: { subscription: {}, needStake: true } }));
    await press(page, 'Undo cancellation');
    await dialog(page).getByRole('button', { name: 'Undo cancellation' }).click();
    await expect(dialog(page).getByRole('alert')).toContainText('Only the customer can resume the subscription');
  });
});

test('pausing and resuming require confirmation', async ({ page }) => {
  const recorded = await openPage(page);
  await press(page, 'Pause');
  await expect(dialog(page)).toContainText('The customer is not charged until you resume the subscription.');
  await dialog(page).getByRole('button', { name: 'Pause', exact: true }).click();
  await expect(admin(page)).toContainText('Subscription paused. The customer is not charged until you resume it.');
  await press(page, 'Resume');
  await dialog(page).getByRole('button', { name: 'Resume', exact: true }).click();
  await expect(admin(page)).toContainText('Subscription resumed.');
  expect(recorded.calls.filter(({ method }) => method === 'PUT').map(({ path }) => path)).toEqual([
    '/subscriptions/sub_active/pause',
    '/subscriptions/sub_active/resume',
  ]);
});

test('billing on hold shows the reason and can be resumed', async ({ page }) => {
  const recorded = await openPage(page, { on_hold: true, on_hold_reason: 'currency_not_configured' });
  await expect(admin(page)).toContainText('Billing of this subscription is on hold');
  await expect(admin(page)).toContainText('One of its prices has no amount in SKT');
  await press(page, 'Resume billing');
  await dialog(page).getByRole('button', { name: 'Resume billing' }).click();
  await expect(admin(page)).toContainText('Billing resumed.');
  await expect(admin(page)).not.toContainText('is on hold');
  expect(last(recorded, /PUT .*resume-billing/)).toBeTruthy();
});

const unbilled = {
  on_hold: true,
  on_hold_reason: 'unbilled_periods',
  unbilled_periods: 5,
  next_period_start: NOW + 5 * 86_400,
} as const;

test('billing with unbilled periods is resumed only after a decision', async ({ page }) => {
  const recorded = await openPage(page, unbilled);
  await expect(admin(page)).toContainText('5 periods have begun without an invoice');
  await expect(admin(page)).toContainText('Access continues');
  await expect(admin(page).getByRole('button', { name: 'Pause' })).toHaveCount(0);
  await press(page, 'Resume billing');
  await expect(dialog(page)).toContainText("what you skip can't be billed later");
  await expect(dialog(page).getByText(/the customer is charged again on/)).toBeVisible();
  const submit = dialog(page).getByRole('button', { name: 'Resume billing' });
  await submit.click();
  await expect(dialog(page).getByRole('alert')).toContainText('Choose what should be billed');
  await dialog(page)
    .getByRole('radio', { name: /The current period/ })
    .check();
  await expectAccessible(page);
  await submit.click();
  await expect(admin(page)).toContainText('Billing resumed.');
  expect(last(recorded, /PUT .*resume-billing/)?.body).toEqual({ mode: 'current_period' });
});

for (const display of displaySettings) {
  test(`unbilled periods are decided one by one or for all, in ${display.locale}, ${display.scheme}`, async ({
    page,
  }) => {
    await applyDisplaySettings(page, display);
    await page.clock.setFixedTime(NOW * 1000);
    const held = [1, 2, 3].map((number) =>
      customerSubscription({
        id: `sub_${number}`,
        ...unbilled,
        ...(number === 3 ? { on_hold_reason: 'price_missing' } : {}),
      }),
    );
    const subscriptions = [...held, customerSubscription()];
    const recorded = await serve(page, { signedIn: true, role: 'owner', billing: { subscriptions } });
    await page.goto('/console/on-hold');
    // A phone's table has no row of headings.
    const rows = page
      .getByRole('table')
      .getByRole('row')
      .filter({ has: page.getByRole('link') });
    await expect(rows).toHaveCount(3);
    await expect(page.getByRole('button', { name: /^(Decide|处理)$/ })).toHaveCount(2);
    await expectAccessible(page);
    await page
      .getByRole('button', { name: /^(Decide|处理)$/ })
      .first()
      .click();
    await dialog(page)
      .getByRole('radio', { name: /Nothing|都不计费/ })
      .check();
    await dialog(page)
      .getByRole('button', { name: /Resume billing|恢复计费/ })
      .click();
    await expect(rows).toHaveCount(2);
    expect(last(recorded, /PUT .*sub_1.resume-billing/)?.body).toEqual({ mode: 'skip' });
    await page.getByRole('button', { name: /Decide for all|统一处理/ }).click();
    await dialog(page)
      .getByRole('radio', { name: /Every period|所有周期/ })
      .check();
    await expectAccessible(page);
    await dialog(page)
      .getByRole('button', { name: /Resume billing|恢复计费/ })
      .click();
    await expect(rows).toHaveCount(1);
    await expect(page.getByText(/Billing of 1 subscription was resumed|已恢复 1 个订阅的计费/)).toBeVisible();
    await expect(page.getByRole('button', { name: /Decide for all|统一处理/ })).toHaveCount(0);
    expect(last(recorded, /PUT .subscriptions.resume-billing/)?.body).toEqual({ mode: 'every_period' });
  });
}

test('a deposit is forfeited only after a confirmation that names the amount', async ({ page }) => {
  const recorded = await openPage(page);
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
  expect(last(recorded, /slash/)).toBeUndefined();
  await dialog(page).getByRole('button', { name: 'Forfeit 2.5 SKT' }).click();
  await expect(admin(page)).toContainText('The deposit is being forfeited.');
  expect(last(recorded, /PUT .*slash-stake/)?.body).toEqual({ amount: '2.5', reason: 'Never gave the book back' });
});

test('a waiting deposit of an ended subscription can be returned at once', async ({ page }) => {
  const staking = { ...subscription().staking, status: 'waiting', return_at: NOW + 86_400 };
  const recorded = await openPage(page, { status: 'canceled', ended_at: NOW - 60, canceled_at: NOW - 60, staking });
  await press(page, 'Return deposit now');
  await expect(dialog(page)).toContainText('5 SKT is returned to the customer now instead of on Nov 21, 2026.');
  await dialog(page).getByRole('button', { name: 'Return deposit now' }).click();
  await expect(admin(page)).toContainText('The deposit is being returned.');
  expect(last(recorded, /PUT .*return-stake/)).toBeTruthy();
});

test('a rejected action shows the translated reason in the dialog', async ({ page }) => {
  await applyDisplaySettings(page, { locale: 'zh' });
  await openPage(page);
  await page.route(/\/pause\?/, (route) =>
    route.fulfill({
      status: 400,
      json: { error: 'a subscription that is canceled does not allow: Pause', code: 'STATUS_FORBIDS' },
    }),
  );
  await page.getByRole('button', { name: '暂停' }).click();
  await dialog(page).getByRole('button', { name: '暂停' }).click();
  await expect(dialog(page).getByRole('alert')).toContainText('订阅在当前状态下不允许此操作。');
});

test.describe('a refund of the last payment', () => {
  /** Opens the subscription page with the invoice `paid` above the renewals. */
  async function openWithInvoice(page: Page, paid: Partial<InvoiceDetail>, byBalance = '0'): Promise<Recorded> {
    const [renewal, ...others] = invoicesOf(customerSubscription());
    const newest = { ...renewal, id: 'in_newest', number: 'SOUK-0031', ...paid };
    const refundable = { in_newest: { amount: '5000000000000000000', to_balance: byBalance } };
    await page.clock.setFixedTime(NOW * 1000);
    const recorded = await serve(page, {
      signedIn: true,
      role: 'owner',
      billing: { subscriptions: [customerSubscription()], refundable },
    });
    const list = [newest, renewal, ...others];
    await page.route(/\/api\/invoices\?/, (route) => route.fulfill({ json: { count: list.length, list } }));
    await page.route(/\/api\/invoices\/in_newest\?/, (route) => route.fulfill({ json: newest }));
    await page.goto('/console/subscriptions/sub_active');
    return recorded;
  }

  test('skips top-ups, which are not revenue', async ({ page }) => {
    await openWithInvoice(page, { billing_reason: 'recharge', paymentIntent: null });
    await press(page, 'Refund');
    await expect(page.getByRole('dialog', { name: 'Refund invoice SOUK-0021' })).toBeVisible();
  });

  test('of a renewal paid from the balance goes back to the balance at once', async ({ page }) => {
    const all = '5000000000000000000';
    const recorded = await openWithInvoice(page, { applied_credit: all, paymentIntent: null }, all);
    await press(page, 'Refund');
    await expect(page.getByRole('dialog', { name: 'Refund invoice SOUK-0031' })).toBeVisible();
    await expect(dialog(page).getByLabel('Amount in SKT')).toHaveValue('5');
    await expect(dialog(page).getByRole('region', { name: 'Preview' })).toContainText(
      'Added to the account balance5 SKT',
    );
    await dialog(page).getByRole('button', { name: 'Refund 5 SKT' }).click();
    await expect(page.locator('#announcer')).toHaveText('Added to the account balance.');
    expect(last(recorded, /POST .*credit-notes$/)?.body).toEqual({
      invoice_id: 'in_newest',
      items: [{ invoice_item_id: 'ii_0', amount: '5', revokes: false }],
      reason: 'other',
      to: 'refund',
    });
    await expect(admin(page).getByRole('button', { name: 'Refund' })).toHaveCount(0);
  });
});

test('an expired card is shown without an action for the store', async ({ page }) => {
  const mandate = { ...byCard.mandate, exp_month: 10, exp_year: 2026 } as Subscription['mandate'];
  await openPage(page, { mandate });
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
  for (const display of displaySettings) {
    test(`${name} of the console have no accessibility fault in ${display.locale}, ${display.scheme}`, async ({
      page,
    }) => {
      await applyDisplaySettings(page, display);
      await openPage(page, changes);
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
