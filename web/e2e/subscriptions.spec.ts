import { expect, type Page, test } from '@playwright/test';
import type { Subscription } from '../src/api/types';
import { expectAccessible } from './fixtures/axe';
import {
  type BillingState,
  byCard,
  ending,
  NOW,
  nothingOverdue,
  overdueAll,
  preview,
  price,
  subscription,
  unpaidByCard,
} from './fixtures/billing';
import { usd, user } from './fixtures/data';
import { delayResponse } from './fixtures/delay-response';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { type Recorded, type ServerOptions, serve } from './fixtures/server';

/** Opens a page as a signed-in customer with subscriptions, at the time of the fixtures. */
async function openPage(page: Page, path: string, billing: Partial<BillingState> = {}, options: ServerOptions = {}) {
  await page.clock.setFixedTime(NOW * 1000);
  const recorded = await serve(page, { signedIn: true, billing, ...options });
  await page.goto(path);
  return recorded;
}

const last = (recorded: Recorded, path: RegExp) =>
  recorded.calls.filter((call) => path.test(`${call.method} ${call.path}`)).at(-1);
const detail = (id: string) => `/customer/subscription/${id}`;
const dialog = (page: Page) => page.getByRole('dialog');

test.beforeEach(({ page }) => applyDisplaySettings(page));

test.describe('the portal', () => {
  test('lists required actions first, then the subscriptions', async ({ page }) => {
    await openPage(page, '/customer');
    const summary = page.getByRole('region', { name: 'Summary' });
    await expect(summary).toContainText('10 SKT + $27.00 past due');
    await expect(summary).toContainText('Your trial of Almanac Plus ends on Nov 22, 2026');
    const cards = page.getByRole('region', { name: 'Subscriptions' }).getByRole('listitem');
    await expect(cards).toHaveText([/Tidepool Watch/, /Almanac Plus/, /Chorus Pro/, /Kiln Team/, /Quill for writers/]);
    await expect(cards.nth(0)).toContainText('Payment past due since Nov 16, 2026');
    await expect(cards.nth(1)).toContainText('Free trial until Nov 22, 2026, then 5 SKT / month');
    await expect(cards.nth(3)).toContainText('$27.00 / month + $0.02 / unit, billed monthly');
    await expect(cards.nth(4)).toContainText('Ends on Nov 30, 2026');
    await page.getByRole('button', { name: 'Show 1 ended subscription' }).click();
    await expect(cards).toHaveCount(6);
    await cards.nth(2).getByRole('link').click();
    await expect(page.getByRole('heading', { level: 1, name: 'Chorus Pro' })).toBeVisible();
  });

  test('has a form for the billing details', async ({ page }) => {
    const recorded = await openPage(page, '/customer');
    const details = page.getByRole('region', { name: 'My details' });
    await details.getByLabel('City (optional)').fill('Lisbon');
    await details.getByRole('button', { name: 'Save' }).click();
    await expect(details.getByText('Saved.')).toBeVisible();
    expect(last(recorded, /PUT \/customers\/me/)?.body).toMatchObject({ address: { city: 'Lisbon' } });
  });

  test('offers a retry if the subscriptions fail to load, and a message if there are none', async ({ page }) => {
    await openPage(page, '/customer', {}, { failing: { '/subscriptions': 500 } });
    await expect(page.getByText("Your subscriptions couldn't be loaded.")).toBeVisible();
    await expect(page.getByRole('region', { name: 'Subscriptions' }).getByRole('button')).toHaveText('Try again');
    // The overdue balance still loads.
    await expect(page.getByRole('region', { name: 'Summary' })).toContainText('10 SKT + $27.00 past due');
    await serve(page, { signedIn: true });
    await page.reload();
    await expect(page.getByText('You have no subscriptions.')).toBeVisible();
  });

  test('does not claim that nothing is past due if the overdue balance fails to load', async ({ page }) => {
    const path = `/customers/${user.did}/overdue/invoices`;
    const failing: Record<string, number> = { [path]: 500 };
    await openPage(page, '/customer', {}, { failing });
    const summary = page.getByRole('region', { name: 'Summary' });
    await expect(summary.getByRole('alert')).toContainText("The overdue payments couldn't be loaded");
    await expect(summary).toContainText('Past due–');
    await expect(summary).not.toContainText('Past dueNone');
    await expectAccessible(page);
    delete failing[path];
    await summary.getByRole('button', { name: 'Try again' }).click();
    await expect(summary).toContainText('10 SKT + $27.00 past due');
  });
});

test.describe('a subscription', () => {
  test('shows its timeline, plan, next invoice, payment method and stake', async ({ page }) => {
    await openPage(page, detail('sub_active'));
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await expect(timeline.getByRole('listitem')).toHaveText([/^Started/, /^Renewed/, /^RenewsNov 30, 2026/]);
    const details = page.getByRole('region', { name: 'Details' });
    await expect(details).toContainText('5 SKT on Nov 30, 2026');
    await expect(details).toContainText('Authorized for up to 10 SKT per payment');
    await expect(details.getByRole('link', { name: /Transaction/ })).toHaveAttribute('href', /\/txs\/5TAKE0A1D2E4/);
    await expect(details).toContainText('Current period');
    await openPage(page, detail('sub_ended'));
    await expect(details).toContainText('Last period');
    await expect(details).not.toContainText('Current period');
  });

  test('shows the card, and the time of its test clock', async ({ page }) => {
    await openPage(page, detail('sub_card'));
    await expect(page.getByText('Visa •••• 4242')).toBeVisible();
    await openPage(page, detail('sub_trial'));
    await expect(page.getByText(/Your account is on a test clock: Nov 20, 2026/)).toBeVisible();
  });

  test('that is missing or fails to load shows a message', async ({ page }) => {
    await openPage(page, detail('sub_none'));
    await expect(page.getByRole('heading', { level: 1, name: 'This subscription does not exist' })).toBeVisible();
    await openPage(page, detail('sub_active'), {}, { failing: { '/subscriptions/sub_active': 500 } });
    await expect(page.getByText("The subscription couldn't be loaded")).toBeVisible();
  });

  test('lists its invoices, with a pay button for unpaid ones', async ({ page }, info) => {
    const phone = info.project.name === 'phone';
    const recorded = await openPage(page, detail('sub_due'));
    const invoices = page.getByRole('region', { name: 'Invoices' });
    await expect(invoices.getByRole('button', { name: 'Pay invoice SOUK-0101' })).toBeVisible();
    if (phone) {
      await expect(invoices.getByText('5 of 9')).toBeVisible();
      await invoices.getByRole('button', { name: 'Show more' }).click();
      await expect(invoices.getByText('9 of 9')).toBeVisible();
    } else {
      await expect(invoices.getByRole('row')).toHaveCount(10);
      await expect(invoices.getByRole('row').filter({ hasText: 'Void' }).locator('s')).toHaveText('5 SKT');
      await expect(invoices.getByRole('row').last()).toContainText('Refundable deposit');
    }
    expect(last(recorded, /GET \/invoices/)?.query.get('include_staking')).toBe('true');
    await invoices.getByRole('button', { name: 'Pay invoice SOUK-0101' }).click();
    await expect(invoices.getByRole('button', { name: 'Pay invoice SOUK-0101' })).toHaveCount(0, { timeout: 8000 });
    expect(last(recorded, /did\/collect\/token/)?.query.get('invoiceId')).toBe('in_due1');
  });

  test('without invoices shows the date of the next one', async ({ page }) => {
    await openPage(page, detail('sub_active'), {}, { empty: true });
    await expect(page.getByText('No invoices yet. The next one is due on Nov 30, 2026.')).toBeVisible();
  });
});

test.describe('canceling', () => {
  test('shows the consequences, accepts a reason, and works by keyboard', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_active'));
    await page.getByRole('button', { name: 'Cancel subscription' }).press('Enter');
    await expect(dialog(page)).toContainText('You can use your subscription until Nov 30, 2026');
    await expect(page.getByRole('radio')).toHaveCount(8);
    await page.getByRole('radio').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Too many buttons');
    await dialog(page).getByRole('button', { name: 'Cancel at period end' }).press('Enter');
    await expect(page.getByText("Canceled. Your subscription won't renew.")).toBeVisible();
    await expect(page.getByText('Ends on Nov 30, 2026')).toBeVisible();
    expect(last(recorded, /PUT .*cancel/)?.body).toEqual({
      at: 'current_period_end',
      refund: 'none',
      feedback: 'missing_features',
      comment: 'Too many buttons',
      cancel_from: 'customer',
    });
  });

  test('works without a reason', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_active'));
    await page.getByRole('button', { name: 'Cancel subscription' }).click();
    await dialog(page).getByRole('button', { name: 'Cancel at period end' }).click();
    await expect(page.getByText("Canceled. Your subscription won't renew.")).toBeVisible();
    expect(last(recorded, /PUT .*cancel/)?.body).toEqual({
      at: 'current_period_end',
      refund: 'none',
      cancel_from: 'customer',
    });
  });

  test('works while a payment is past due, and shows the end date', async ({ page }) => {
    await openPage(page, detail('sub_due'));
    await page.getByRole('button', { name: 'Cancel subscription' }).click();
    await expect(dialog(page)).toContainText('Your subscription will end on Nov 30, 2026.');
    await expect(dialog(page)).toContainText('the overdue balance remains due');
    await dialog(page).getByRole('button', { name: 'Cancel at period end' }).click();
    await expect(page.getByText('Payment past due since Nov 16, 2026; ends on Nov 30, 2026')).toBeVisible();
    await expect(page.getByText('Ending', { exact: true })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Cancel subscription' })).toHaveCount(0);
    await expect(page.getByRole('button', { name: 'Resume subscription' })).toBeVisible();
    await expect(page.getByRole('region', { name: 'Timeline' })).toContainText('EndsNov 30, 2026');
  });

  test('ends a trial immediately', async ({ page }) => {
    await openPage(page, detail('sub_trial'));
    await page.getByRole('button', { name: 'Cancel subscription' }).click();
    await expect(dialog(page)).toContainText('Your trial will end immediately.');
    await page.getByRole('radio', { name: 'Other', exact: true }).check();
    await dialog(page).getByRole('button', { name: 'End trial now' }).click();
    await expect(page.getByText('Ended on Nov 20, 2026')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Cancel subscription' })).toHaveCount(0);
  });

  test('that is rejected shows the reason and keeps the choice', async ({ page }) => {
    await openPage(page, detail('sub_active'), {}, { failing: { '/subscriptions/sub_active/cancel': 409 } });
    const trigger = page.getByRole('button', { name: 'Cancel subscription' });
    await trigger.click();
    await page.getByRole('radio', { name: "It's too expensive" }).check();
    await dialog(page).getByRole('button', { name: 'Cancel at period end' }).click();
    await expect(dialog(page).getByRole('alert').last()).toContainText('Failed with 409');
    await expect(page.getByRole('radio', { name: "It's too expensive" })).toBeChecked();
    await page.keyboard.press('Escape');
    await expect(dialog(page)).toHaveCount(0);
    await expect(trigger).toBeFocused();
  });
});

test('a rejected cancellation shows the translated reason', async ({ page }) => {
  await applyDisplaySettings(page, { locale: 'zh' });
  await openPage(page, detail('sub_active'));
  await page.route(/\/cancel\?/, (route) =>
    route.fulfill({
      status: 400,
      json: { error: 'The store has set the end date of this subscription', code: 'ENDED_BY_STORE' },
    }),
  );
  await page.getByRole('button', { name: '取消订阅' }).click();
  await page.getByRole('radio').first().check();
  await dialog(page).getByRole('button', { name: '周期结束时取消' }).click();
  await expect(dialog(page).getByRole('alert').last()).toContainText('商店已设定此订阅的结束日期');
});

test.describe('resuming', () => {
  test('undoes the cancellation', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_ending'));
    await page.getByRole('button', { name: 'Resume subscription' }).click();
    await expect(dialog(page).getByRole('button', { name: 'Cancel', exact: true })).toBeVisible();
    await dialog(page).getByRole('button', { name: 'Resume subscription' }).click();
    await expect(page.getByText('Subscription resumed.')).toBeVisible();
    expect(last(recorded, /PUT .*recover/)).toBeTruthy();
  });

  test('requests a new stake if the old one is gone', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_ending'), { needStake: true });
    await page.getByRole('button', { name: 'Resume subscription' }).click();
    await expect(dialog(page)).toContainText('your wallet will ask for a new one');
    await dialog(page).getByRole('button', { name: 'Pay deposit and resume' }).click();
    await expect(page.getByText('Subscription resumed.')).toBeVisible({ timeout: 8000 });
    expect(last(recorded, /did\/re-stake\/token/)?.query.get('subscriptionId')).toBe(ending.id);
    expect(last(recorded, /PUT .*recover/)).toBeUndefined();
  });
});

test.describe('changing the plan', () => {
  const open = async (page: Page) => {
    await page.getByRole('button', { name: 'Change plan' }).click();
    await page.getByRole('radio', { name: /by the year/ }).check();
    await dialog(page).getByRole('button', { name: 'Preview change' }).click();
  };

  test('shows each line with its formula and applies exactly the confirmed preview', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_active'));
    await open(page);
    const lines = dialog(page).getByRole('table', { name: 'Items' }).locator('tbody').getByRole('row');
    await expect(lines).toHaveText([/5 SKT × 10\/30 days.*−1.666667 SKT/, /1 × 48 SKT.*48 SKT/]);
    await expect(dialog(page)).toContainText('Due now46.333333 SKT');
    // Two lines need no subtotals.
    await expect(dialog(page)).not.toContainText('Unused time on current plan');
    const action = dialog(page).getByRole('button', { name: /^Pay .+ and change plan$/ });
    await expect(action).toBeDisabled();
    await page.getByRole('checkbox').press('Space');
    await action.press('Enter');
    await expect(page.getByText('Plan changed.')).toBeVisible();
    expect(last(recorded, /PUT .*change-plan/)?.body).toEqual({
      price_id: 'price_year',
      proration_date: preview.proration_date,
      expected_total: preview.total,
      expected_credited: preview.credited,
    });
    await expect(page.getByText('48 SKT / year').first()).toBeVisible();
  });

  test('asks the wallet for approval first if the mandate is too low', async ({ page }) => {
    await openPage(page, detail('sub_active'));
    await page.route(/\/change-plan(\?|$)/, (route) => {
      if (route.request().method() !== 'PUT') return route.fallback();
      const extraParams = { subscriptionId: 'sub_active', currencyId: 'pc_skt', priceId: 'price_year' };
      return route.fulfill({ json: { connect: { action: 'change-payment', extraParams } } });
    });
    await open(page);
    await expect(dialog(page)).toContainText('your wallet will ask for your approval first.');
    await page.getByRole('checkbox').check();
    const request = page.waitForRequest(/did\/change-payment\/token/);
    await dialog(page)
      .getByRole('button', { name: /^Pay .+ and change plan$/ })
      .click();
    expect(new URL((await request).url()).searchParams.get('priceId')).toBe('price_year');
    await expect(page.getByRole('dialog', { name: 'Approve the new plan' })).toBeVisible();
    // The text covers a low limit and a low stake.
    await expect(page.getByText('a higher payment limit, a larger deposit, or both')).toBeVisible();
  });

  test('shows the additional stake beside the amount due', async ({ page }) => {
    await openPage(page, detail('sub_active'), { previews: [{ ...preview, stake: '7000000000000000000' }] });
    await open(page);
    await expect(dialog(page)).toContainText('Additional refundable deposit7 SKT');
    await expect(dialog(page)).toContainText('Due now53.333333 SKT');
    await expect(dialog(page)).toContainText('Your wallet will first ask you to approve the additional deposit');
    await openPage(page, detail('sub_active'), { previews: [{ ...preview, stake: '0' }] });
    await open(page);
    await expect(dialog(page)).toContainText('Due now');
    await expect(dialog(page)).not.toContainText('dditional refundable deposit');
    await openPage(page, detail('sub_active'), { previews: [{ ...preview, next_amount: '0' }] });
    await open(page);
    await expect(dialog(page)).toContainText(/Next payment on .+, paid from your balance0 SKT/);
  });

  test('shows new amounts and requires a new confirmation if they have changed', async ({ page }) => {
    await openPage(page, detail('sub_active'), {
      previews: [preview, { ...preview, total: '47000000000000000000' }],
    });
    await open(page);
    await page.getByRole('checkbox').check();
    await dialog(page)
      .getByRole('button', { name: /^Pay .+ and change plan$/ })
      .click();
    await expect(dialog(page).getByRole('alert')).toContainText('The amounts have changed');
    await expect(dialog(page)).toContainText('Due now47 SKT');
    await expect(page.getByRole('checkbox')).not.toBeChecked();
  });

  test('that is rejected shows the reason and keeps the confirmation', async ({ page }) => {
    await openPage(page, detail('sub_active'));
    await page.route(/\/change-plan\?/, (route) =>
      route.request().method() === 'PUT'
        ? route.fulfill({ status: 400, json: { error: 'A payment is under way' } })
        : route.fallback(),
    );
    await page.getByRole('button', { name: 'Change plan' }).click();
    await dialog(page).getByRole('button', { name: 'Preview change' }).click();
    await dialog(page).getByRole('checkbox').check();
    await dialog(page)
      .getByRole('button', { name: /^Pay .+ and change plan$/ })
      .click();
    await expect(dialog(page).getByRole('alert')).toContainText("The plan wasn't changed");
    await expect(dialog(page).getByRole('alert')).toContainText('A payment is under way');
    await expect(dialog(page).getByRole('checkbox')).toBeChecked();
  });

  test('shows the price of the new plan for the current quantity', async ({ page }) => {
    const items = [{ id: 'si_1', price_id: 'price_monthly', quantity: 3, price: price() }];
    await openPage(page, detail('sub_active'), { subscriptions: [subscription({ items })] });
    await page.getByRole('button', { name: 'Change plan' }).click();
    await expect(dialog(page)).toContainText('15 SKT / month');
    await expect(page.getByRole('radio', { name: /by the year/ })).toHaveAccessibleName(/144 SKT \/ year/);
    await page.getByRole('radio', { name: /by the year/ }).check();
    await dialog(page).getByRole('button', { name: 'Preview change' }).click();
    await expect(dialog(page)).toContainText('144 SKT / year');
  });

  test('shows a message if there is no other plan', async ({ page }) => {
    await openPage(page, detail('sub_active'), { plans: [] });
    await page.getByRole('button', { name: 'Change plan' }).click();
    await expect(dialog(page)).toContainText('There is no other plan to switch to.');
  });
});

/** Changes the payment method to the test card that succeeds. */
async function saveCard(page: Page) {
  await page.getByRole('button', { name: 'Change payment method' }).click();
  await page.getByRole('radio', { name: /Card/ }).check();
  await dialog(page).getByRole('button', { name: 'Enter card details' }).click();
  await dialog(page).getByText('Test cards').click();
  await dialog(page).getByRole('button', { name: 'Use the test card: Succeeds' }).click();
  await dialog(page).getByRole('button', { name: 'Save card' }).click();
}

test.describe('changing the payment method', () => {
  test('to a wallet opens the wallet dialog', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_active'));
    await page.getByRole('button', { name: 'Change payment method' }).click();
    await page.getByRole('radio', { name: /Wallet/ }).check();
    await dialog(page).getByRole('button', { name: 'Approve in wallet' }).click();
    await expect(page.getByText('Payment method changed.')).toBeVisible({ timeout: 8000 });
    const query = last(recorded, /did\/change-payment\/token/)?.query;
    expect([query?.get('subscriptionId'), query?.get('currencyId')]).toEqual(['sub_active', 'pc_skt']);
  });

  test('offers the methods of the subscription’s mode', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_live'), {
      subscriptions: [subscription({ id: 'sub_live', livemode: true })],
    });
    await page.getByRole('button', { name: 'Change payment method' }).click();
    await expect(dialog(page).getByRole('radio')).toHaveCount(1);
    expect(last(recorded, /GET \/settings/)?.query.get('livemode')).toBe('true');
  });

  test('to a card that the bank has confirmed says that it is changed', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_active'));
    await page.route('**/sandbox/stripe/v1/**', (route) => {
      for (const each of recorded.billing.subscriptions) if (each.id === 'sub_active') each.mandate = byCard.mandate;
      return route.fulfill({ json: { id: 'seti_1', status: 'succeeded' } });
    });
    await saveCard(page);
    await expect(page.getByText('Payment method changed.')).toBeVisible();
    await expect(page.getByText(/Your bank is confirming the card/)).toHaveCount(0);
  });

  test('to a card opens the card form', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_active'));
    const request: string[] = [];
    await page.route('**/sandbox/stripe/v1/**', (route) => {
      request.push(new URL(route.request().url()).pathname);
      return route.fulfill({ json: { id: 'seti_1', status: 'succeeded' } });
    });
    await saveCard(page);
    await expect(page.getByText(/Your bank is confirming the card/)).toBeVisible();
    expect(request).toEqual(['/sandbox/stripe/v1/setup_intents/seti_1/confirm']);
    expect(last(recorded, /POST .*change-payment/)?.body).toEqual({
      payment_method: 'pm_card',
      payment_currency: 'pc_usd',
    });
  });
});

const cardExpiring = (exp_month: number) => ({
  subscriptions: [{ ...byCard, mandate: { ...byCard.mandate, exp_month, exp_year: 2026 } }] as Subscription[],
});

test.describe('an expiring card', () => {
  test('is shown in the portal, with a link that opens the payment dialog', async ({ page }) => {
    await openPage(page, '/customer', cardExpiring(11));
    const summary = page.getByRole('region', { name: 'Summary' });
    await expect(summary).toContainText('The card for Kiln Team expires before the next payment');
    await expect(summary).toContainText(
      'Visa •••• 4242 expires in November 2026; the next payment is due on Dec 2, 2026.',
    );
    await summary.getByRole('link', { name: 'Change payment method' }).click();
    await expect(page.getByRole('dialog', { name: 'Change payment method' })).toBeVisible();
    await expect(page).toHaveURL(/action=changePayment/);
    await page.keyboard.press('Escape');
    await expect(dialog(page)).toHaveCount(0);
    await expect(page.getByText('expires before the next payment')).toBeVisible();
    await expect(page).toHaveURL(/\/sub_card$/);
  });

  test('that has expired is shown on the subscription page, with a button to change it', async ({ page }) => {
    await openPage(page, detail('sub_card'), cardExpiring(10));
    await expect(page.getByText('The card for Kiln Team has expired')).toBeVisible();
    await page.getByRole('button', { name: 'Change payment method' }).click();
    await expect(page.getByRole('dialog', { name: 'Change payment method' })).toBeVisible();
  });

  test('is not shown while it is valid', async ({ page }) => {
    await openPage(page, detail('sub_card'), cardExpiring(12));
    await expect(page.getByText('Expires December 2026')).toBeVisible();
    await expect(page.getByText('The card for')).toHaveCount(0);
  });
});

test.describe('a top-up', () => {
  const open = (page: Page) => page.getByRole('button', { name: 'Top up', exact: true }).click();

  test('is for a number of periods, at their exact price', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_active'));
    const details = page.getByRole('region', { name: 'Details' });
    await expect(details).toContainText(/Paying account12 SKT \(covers 2 months\)z1/);
    await open(page);
    await expect(dialog(page)).toContainText('12 SKT (covers 2 months)');
    await expect(page.getByRole('radio', { name: '1 month 5 SKT' })).toBeChecked();
    await page.getByRole('radio', { name: '12 months 60 SKT' }).check();
    await dialog(page).getByRole('button', { name: 'Top up 60 SKT' }).click();
    await expect(page.getByText(/Top-up sent/)).toBeVisible({ timeout: 8000 });
    await expect(details).toContainText('72 SKT (covers 14 months)');
    const query = last(recorded, /did\/recharge\/token/)?.query;
    expect([query?.get('subscriptionId'), query?.get('amount')]).toEqual(['sub_active', '60000000000000000000']);
  });

  test('can have another amount, which is validated, by keyboard', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_active'));
    await page.getByRole('button', { name: 'Top up', exact: true }).press('Enter');
    await page.getByRole('radio', { name: '1 month 5 SKT' }).focus();
    for (const _ of [3, 12, 'other']) await page.keyboard.press('ArrowDown');
    await expect(page.getByRole('radio', { name: 'Other amount' })).toBeChecked();
    const amount = dialog(page).getByLabel('Amount in SKT');
    await dialog(page).getByRole('button', { name: 'Top up' }).press('Enter');
    await expect(amount).toHaveAccessibleDescription(/Enter an amount such as 4.5/);
    await expect(amount).toBeFocused();
    await amount.fill('1000.5');
    await expect(amount).toHaveAccessibleDescription(/Enter at most 1,000 SKT/);
    await amount.fill('7.25');
    await amount.press('Enter');
    await expect.poll(() => last(recorded, /did\/recharge\/token/)?.query.get('amount')).toBe('7250000000000000000');
  });

  test('that the wallet declines shows the reason and keeps the dialog open', async ({ page }) => {
    await openPage(page, detail('sub_active'), { wallet: 'declines' });
    await open(page);
    await dialog(page).getByRole('button', { name: 'Top up 5 SKT' }).click();
    await expect(dialog(page).last()).toContainText('The top-up failed', { timeout: 8000 });
    await expect(dialog(page).last()).toContainText('The balance is not sufficient');
    await page.keyboard.press('Escape');
    await expect(dialog(page).getByRole('button', { name: 'Top up 5 SKT' })).toBeEnabled();
  });

  test('has only an amount field for metered prices', async ({ page }) => {
    const payingBalance = { payer: 'z1payer', currency_id: 'pc_skt', balance: null, period_amount: null, maximum: '9' };
    await openPage(page, detail('sub_due'), { payingBalance });
    await open(page);
    await expect(dialog(page)).toContainText('The overdue balance is charged as soon as the funds arrive.');
    await expect(dialog(page).getByRole('radio')).toHaveCount(0);
    await expect(dialog(page).getByLabel('Amount in SKT')).toBeVisible();
  });

  test('is not offered for cards or ending subscriptions', async ({ page }) => {
    for (const id of ['sub_card', 'sub_ended', 'sub_ending']) {
      await openPage(page, detail(id));
      await expect(page.getByRole('region', { name: 'Timeline' })).toBeVisible();
      await expect(page.getByRole('button', { name: 'Top up' })).toHaveCount(0);
    }
  });

  test('switches to the amount field if the price per period becomes unknown', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_active'));
    await open(page);
    await page.getByRole('radio', { name: '3 months 15 SKT' }).check();
    recorded.billing.payingBalance = { ...recorded.billing.payingBalance, period_amount: null };
    // The page refetches when the connection returns.
    await page.clock.setFixedTime((NOW + 60) * 1000);
    for (const name of ['offline', 'online'])
      await page.evaluate((event) => window.dispatchEvent(new Event(event)), name);
    await expect(dialog(page).getByLabel('Amount in SKT')).toBeVisible();
    await expect(dialog(page).getByRole('button', { name: 'Top up' })).toBeVisible();
  });

  test('shows no covered periods while an invoice is past due', async ({ page }) => {
    await openPage(page, detail('sub_due'));
    const details = page.getByRole('region', { name: 'Details' });
    await expect(details).toContainText('Paying account12 SKT');
    await expect(details).not.toContainText('covers');
    await open(page);
    await expect(dialog(page)).toContainText('12 SKT');
    await expect(dialog(page)).not.toContainText('covers');
  });

  test('reserves the space of the balance while loading and on errors', async ({ page }) => {
    await page.clock.setFixedTime(NOW * 1000);
    await serve(page, { signedIn: true, billing: {} });
    const release = await delayResponse(page, /\/paying-balance\?/, (route) =>
      route.fulfill({ status: 502, json: { error: 'The network is silent' } }),
    );
    await page.goto(detail('sub_active'));
    const account = page.getByRole('region', { name: 'Details' });
    await expect(account.locator('[aria-busy="true"]')).toContainText('Loading…');
    const before = await account.boundingBox();
    release();
    await expect(account).toContainText('Balance not available right now');
    expect((await account.boundingBox())?.height).toBe(before?.height);
  });

  test('balance never blocks other actions, and is not shown in another currency', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_active'));
    const details = page.getByRole('region', { name: 'Details' });
    await expect(details).toContainText('12 SKT (covers 2 months)');
    await page.route(/\/paying-balance\?/, () => {});
    Object.assign(recorded.billing.subscriptions[0] ?? {}, { currency_id: usd.id, paymentCurrency: usd });
    await page.getByRole('button', { name: 'Cancel subscription' }).click();
    await dialog(page).getByRole('radio').first().check();
    await dialog(page).getByRole('button', { name: 'Cancel at period end' }).click();
    await expect(page.getByText("Canceled. Your subscription won't renew.")).toBeVisible();
    await expect(details.locator('[aria-busy="true"]')).toHaveCount(1);
    await expect(details).not.toContainText('covers');
  });
});

test.describe('the overdue balance', () => {
  const pastDuePath = '/customer/invoice/past-due?referer=%2Fcheckout%2Fpay%2Fcs_1';

  test('is paid by currency, and cards link to their subscription', async ({ page }) => {
    const recorded = await openPage(page, pastDuePath);
    await expect(page.getByRole('link', { name: 'Back', exact: true })).toHaveAttribute(
      'href',
      /^http:\/\/127\.0\.0\.1:\d+\/checkout\/pay\/cs_1$/,
    );
    await expect(page.getByText('To pay by card, open the subscription.')).toBeVisible();
    await expect(page.getByRole('link', { name: 'Open Kiln Team' })).toHaveAttribute(
      'href',
      '/customer/subscription/sub_card',
    );
    await page.getByRole('button', { name: 'Pay 10 SKT' }).click();
    await expect(page.getByRole('button', { name: 'Pay 10 SKT' })).toHaveCount(0, { timeout: 8000 });
    const query = last(recorded, /did\/collect-batch\/token/)?.query;
    expect(query?.get('currencyId')).toBe('pc_skt');
    expect(query?.get('customerId')).toMatch(/^z1/);
  });

  test('is confirming, not paid, until the store has received the payment', async ({ page }) => {
    const recorded = await openPage(page, pastDuePath, { settles: false });
    const row = page.getByRole('listitem').filter({ hasText: '10 SKT' });
    await row.getByRole('button', { name: 'Pay 10 SKT' }).click();
    await expect(row).toContainText('Confirming…', { timeout: 8000 });
    await expect(row).not.toContainText('Paid');
    recorded.billing.overdue.all = nothingOverdue;
    await expect(page.getByRole('heading', { level: 1, name: 'No overdue payments' })).toBeVisible();
  });

  test('that could not be paid shows the reason and a retry button', async ({ page }) => {
    await openPage(page, pastDuePath, { wallet: 'declines' });
    await page.getByRole('button', { name: 'Pay 10 SKT' }).click();
    await expect(dialog(page)).toContainText('The balance is not sufficient', { timeout: 8000 });
    await page.keyboard.press('Escape');
    await expect(page.getByRole('alert')).toHaveText('Payment failed: The balance is not sufficient');
    await expect(page.getByRole('button', { name: 'Try again: pay 10 SKT' })).toBeVisible();
  });

  test('disappears when it was paid elsewhere', async ({ page }) => {
    await page.clock.install();
    const recorded = await openPage(page, pastDuePath);
    await expect(page.getByRole('button', { name: 'Pay 10 SKT' })).toBeVisible();
    await expect.poll(() => Boolean(recorded.emitEvent)).toBe(true);
    recorded.billing.overdue.all = nothingOverdue;
    recorded.emitEvent?.('invoice.paid', { customer_id: 'cus_other', id: 'in_x' });
    await page.clock.fastForward(6000);
    await expect(page.getByRole('button', { name: 'Pay 10 SKT' })).toBeVisible();
    recorded.emitEvent?.('invoice.paid', { customer_id: 'cus_1', id: 'in_due1' });
    await expect(page.getByRole('heading', { level: 1, name: 'No overdue payments' })).toBeVisible();
    await expect(page.getByRole('link', { name: 'Continue', exact: true })).toHaveAttribute(
      'href',
      /^http:\/\/127\.0\.0\.1:\d+\/checkout\/pay\/cs_1$/,
    );
  });

  for (const referer of ['https://evil.example/', '/.//evil.example/x', 'OWN//evil.example/x', 'OWN/\\evil.example/x'])
    test(`never links to another site, such as ${referer}`, async ({ page, baseURL }) => {
      const target = encodeURIComponent(referer.replace('OWN', baseURL ?? ''));
      await openPage(page, `/customer/invoice/past-due?referer=${target}`, {
        overdue: { all: nothingOverdue, one: nothingOverdue },
      });
      await expect(page.getByRole('heading', { level: 1, name: 'No overdue payments' })).toBeVisible();
      const hosts = await page
        .locator('a')
        .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).host));
      expect(new Set(hosts).has('evil.example')).toBe(false);
    });

  test('is paid from the subscription page, and the dialog closes', async ({ page }) => {
    const recorded = await openPage(page, detail('sub_due'));
    await page.getByRole('button', { name: 'Pay overdue balance' }).click();
    await expect(dialog(page)).toContainText(
      'Payment failed for 2 invoices of Tidepool Watch: 10 SKT, Wallet (ArcBlock).',
    );
    await expect(dialog(page).getByRole('table', { name: 'Unpaid invoices' }).getByRole('row')).toHaveText([
      /Invoice SOUK-0101.*Nov 16, 20265 SKT/,
      /Invoice SOUK-0102.*Nov 16, 20265 SKT/,
    ]);
    await dialog(page).getByRole('button', { name: 'Pay 10 SKT' }).click();
    await expect(dialog(page)).toHaveCount(0, { timeout: 8000 });
    await expect(page.getByText('Payment successful').first()).toBeVisible();
    expect(last(recorded, /did\/collect-batch\/token/)?.query.get('subscriptionId')).toBe('sub_due');
  });
});

test.describe('the overdue balance of a card', () => {
  const due = { ...byCard, status: 'past_due' as const, past_due_since: NOW - 86_400 };
  const overdue = {
    ...overdueAll,
    invoices: [unpaidByCard],
    summary: { [usd.id]: overdueAll.summary[usd.id] as never },
  };
  const billing = { subscriptions: [due], overdue: { all: overdue, one: overdue } };
  const form = {
    client_secret: 'seti_1_secret_1',
    publishable_key: 'pk_sandbox_1',
    api_host: '/sandbox/stripe',
    customer: { name: 'Mei Lin', email: 'mei@example.com' },
  };

  for (const [who, path, options] of [
    ['its customer', detail('sub_card'), {}],
    [
      'an email link',
      `${detail('sub_card')}?authToken=in_due3.9.seal`,
      { signedIn: false, authToken: 'in_due3.9.seal' },
    ],
  ] as const)
    test(`is paid by ${who} with a new card on the subscription page`, async ({ page }) => {
      const recorded = await openPage(page, path, billing, options);
      await page.route('**/sandbox/stripe/v1/**', (route) =>
        route.fulfill({ json: { id: 'seti_1', status: 'succeeded' } }),
      );
      await page.route(/\/api\/invoices\/pay-stripe/, (route) => route.fulfill({ json: form }));
      await page.getByRole('button', { name: 'Pay overdue balance' }).click();
      const request = page.waitForRequest(/pay-stripe/);
      await page.getByRole('button', { name: 'Pay $27.00 by card' }).click();
      expect((await request).postDataJSON()).toEqual({ subscription_id: 'sub_card', currency_id: 'pc_usd' });
      const card = dialog(page).last();
      await expect(card.getByLabel('Card number')).toBeVisible();
      // Esc closes only the top dialog.
      await page.keyboard.press('Escape');
      await expect(page.getByRole('button', { name: 'Pay $27.00 by card' })).toBeVisible();
      await page.getByRole('button', { name: 'Pay $27.00 by card' }).click();
      await card.getByText('Test cards').click();
      await card.getByRole('button', { name: 'Use the test card: Succeeds' }).click();
      const confirmed = page.waitForRequest(/setup_intents\/seti_1\/confirm/);
      await card.getByRole('button', { name: 'Save card' }).click();
      // The customer has no address, and none is invented.
      expect((await confirmed).postData()).not.toMatch(/address/);
      recorded.billing.overdue = { all: nothingOverdue, one: nothingOverdue };
      await expect(dialog(page)).toHaveCount(0, { timeout: 8000 });
      await expect(page.getByText('Payment successful').first()).toBeVisible();
    });
});

test.describe('an email link', () => {
  const unsigned = { signedIn: false, authToken: 'in_due1.9.seal' };

  test('opens only its invoice without signing in', async ({ page }) => {
    const recorded = await openPage(
      page,
      '/customer/invoice/in_due1?action=pay&authToken=in_due1.9.seal',
      {},
      unsigned,
    );
    await page.getByRole('button', { name: 'Pay 5 SKT' }).click();
    await expect.poll(() => last(recorded, /did\/collect\/token/)?.query.get('authToken')).toBe('in_due1.9.seal');
    expect(last(recorded, /refunds/)).toBeUndefined();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'All invoices' }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(page.getByRole('heading', { level: 1, name: 'Sign in to see this page' })).toBeVisible();
  });

  test('opens its subscription for payment only', async ({ page }) => {
    const recorded = await openPage(page, `${detail('sub_due')}?authToken=in_due1.9.seal`, {}, unsigned);
    await expect(page.getByRole('button', { name: 'Pay overdue balance' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Change payment method' })).toHaveCount(0);
    // The balance is visible to the customer only.
    await expect(page.getByRole('region', { name: 'Details' })).not.toContainText('Paying account');
    expect(last(recorded, /\/paying-balance$/)).toBeUndefined();
  });

  test('explains how to change an expired card', async ({ page }) => {
    await openPage(page, `${detail('sub_card')}?authToken=in_due3.9.seal`, cardExpiring(10), {
      signedIn: false,
      authToken: 'in_due3.9.seal',
    });
    await expect(page.getByText('Sign in to change the payment method')).toBeVisible();
  });

  test('that has expired shows a message and a sign-in button', async ({ page }) => {
    await openPage(page, `${detail('sub_due')}?authToken=old`, {}, unsigned);
    await expect(page.getByRole('heading', { level: 1, name: 'This link has expired' })).toBeVisible();
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
  });

  test('does not open the past-due page', async ({ page }) => {
    await openPage(page, '/customer/invoice/past-due?authToken=anything', {}, { signedIn: false });
    await expect(page.getByRole('heading', { level: 1, name: 'This link has expired' })).toBeVisible();
    await expectAccessible(page);
  });
});

test.describe('for administrators', () => {
  test("a customer's subscription has their invoices", async ({ page }) => {
    const recorded = await openPage(page, '/console/subscriptions/sub_trial', {}, { role: 'owner' });
    await expect(page.getByRole('region', { name: 'Invoices' })).toContainText('SOUK-0021');
    expect(last(recorded, /GET \/invoices$/)?.query.get('customer_id')).toBe('cus_1');
    await expect(page.getByText(/This customer is on a test clock: Nov 20, 2026/)).toBeVisible();
    await expect(page.locator('main a:not(nav a)').first()).toHaveAttribute('href', '/console/customers/cus_1');
    await expect(page.getByRole('link', { name: 'Mei Lin' })).toHaveAttribute('href', '/console/customers/cus_1');
  });
});

test.describe('an invoice', () => {
  test('that could not be paid is paid from its page', async ({ page }) => {
    const recorded = await openPage(page, '/customer/invoice/in_due1?action=pay');
    await expect(page.getByRole('button', { name: 'Pay 5 SKT' })).toBeFocused();
    await expect(page.getByText("We'll try again on Nov 22, 2026")).toBeVisible();
    await page.getByRole('button', { name: 'Pay 5 SKT' }).press('Enter');
    await expect.poll(() => last(recorded, /did\/collect\/token/)?.query.get('action')).toBe('pay');
  });

  test('shows the period and formula of each line, its subscription, and its refunds', async ({ page }) => {
    await openPage(page, '/customer/invoice/in_due1');
    await expect(page.getByRole('row', { name: /Chorus Pro/ })).toContainText('Nov 16, 2026 – Dec 16, 2026');
    await expect(page.getByRole('row', { name: /Chorus Pro/ })).toContainText('1 × 5 SKT');
    await expect(page.getByRole('link', { name: 'Tidepool Watch' })).toBeVisible();
    await openPage(page, '/customer/invoice/in_0Kq7Zt3');
    await expect(page.getByRole('region', { name: 'Refunds' })).toContainText('2 SKT');
    await expect(page.getByRole('region', { name: 'Refunds' })).toContainText('Refunded');
  });

  test('of a card is paid with a new card', async ({ page }) => {
    await openPage(page, '/customer/invoice/in_due3');
    await page.route(/\/api\/invoices\/pay-stripe/, (route) => {
      const customer = { name: 'Mei Lin', email: 'mei@example.com' };
      const form = { client_secret: 'seti_1_secret_1', publishable_key: 'pk_sandbox_1', api_host: '/sandbox/stripe' };
      return route.fulfill({ json: { ...form, customer } });
    });
    const request = page.waitForRequest(/pay-stripe/);
    await page.getByRole('button', { name: /^Pay .* by card$/ }).click();
    await expect(page.getByRole('dialog').getByLabel('Card number')).toBeVisible();
    expect((await request).postDataJSON()).toEqual({ invoice_ids: ['in_due3'], currency_id: 'pc_usd' });
  });
});

/** A subscription whose plan the customer has ordered to change. */
const planChange = (change: Partial<NonNullable<Subscription['pending_plan_change']>>) => ({
  subscriptions: [
    subscription({
      id: 'sub_change',
      pending_plan_change: {
        status: 'waiting',
        price_id: 'price_yearly',
        reason: null,
        decline_code: null,
        created_at: NOW - 60,
        ...change,
      },
    }),
  ],
});

test('an ordered plan change says that it waits for the network, or why it failed', async ({ page }) => {
  await openPage(page, detail('sub_change'), planChange({}));
  await expect(page.getByText('Your plan change is being confirmed')).toBeVisible();
  await expect(page.getByText('The plan changes as soon as the network confirms it.')).toBeVisible();
  await openPage(page, detail('sub_change'), planChange({ status: 'failed', reason: 'delegation_declined' }));
  await expect(page.getByText('The plan was not changed')).toBeVisible();
  await expect(page.getByText('The network declined the payment authorization.')).toBeVisible();
  await expect(page.getByText('Any deposit paid for this change will be returned.')).toBeVisible();
  await expect(page.getByText('is being confirmed')).toHaveCount(0);
});

const button = (name: RegExp) => (page: Page) => page.getByRole('button', { name }).click();
type Screen = [name: string, path: string, open?: (page: Page) => Promise<unknown>, billing?: Partial<BillingState>];
const screens: Screen[] = [
  ['the portal', '/customer'],
  ...['sub_active', 'sub_trial', 'sub_due', 'sub_card', 'sub_ending', 'sub_ended'].map((id): [string, string] => [
    `the subscription ${id}`,
    detail(id),
  ]),
  ['the card notice', detail('sub_card'), undefined, cardExpiring(11)],
  ['a plan change that waits', detail('sub_change'), undefined, planChange({})],
  [
    'a failed plan change',
    detail('sub_change'),
    undefined,
    planChange({ status: 'failed', reason: 'deposit_declined', decline_code: 'insufficient_funds' }),
  ],
  ['the past-due page', '/customer/invoice/past-due'],
  ['an unpaid invoice', '/customer/invoice/in_due1?action=pay'],
  ['an unpaid invoice of a card', '/customer/invoice/in_due3?action=pay'],
  ['the cancel dialog', detail('sub_active'), button(/^(Cancel subscription|取消订阅)$/)],
  ['the resume dialog', detail('sub_ending'), button(/^(Resume subscription|恢复订阅)$/)],
  ['the plan dialog', detail('sub_active'), button(/^(Change plan|更换方案)$/)],
  [
    'the plan preview',
    detail('sub_active'),
    async (page) => {
      await button(/^(Change plan|更换方案)$/)(page);
      await page.getByRole('radio').last().check();
      await button(/^(Preview change|预览费用)$/)(page);
      await page.getByRole('checkbox').check();
    },
  ],
  [
    'the top-up dialog',
    detail('sub_active'),
    async (page) => {
      await button(/^(Top up|充值)$/)(page);
      await dialog(page).getByRole('radio').last().check();
      await dialog(page).locator('button[type=submit]').click();
      await expect(page.locator('#topUp_amount')).toHaveAttribute('aria-invalid', 'true');
    },
  ],
  ['the method dialog', detail('sub_active'), button(/^(Change payment method|更换支付方式)$/)],
  ['the overdue dialog', detail('sub_due'), button(/^(Pay overdue balance|支付逾期金额)$/)],
];

for (const [name, path, open, billing] of screens) {
  for (const display of displaySettings) {
    test(`${name} has no accessibility fault in ${display.locale}, ${display.scheme}`, async ({ page }) => {
      await applyDisplaySettings(page, display);
      await openPage(page, path, billing);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await open?.(page);
      await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
      expect(await page.locator('html').getAttribute('lang')).toBe(display.locale);
      await expectAccessible(page);
      // The page has no horizontal overflow.
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(
        0,
      );
    });
  }
}

test('a paused subscription can be canceled by its customer', async ({ page }) => {
  const recorded = await openPage(page, detail('sub_paused'), {
    subscriptions: [subscription({ id: 'sub_paused', status: 'paused', next_invoice: null })],
  });
  await expect(page.getByText('Paused. Not billed until resumed.')).toBeVisible();
  await expect(page.getByRole('button', { name: /Change/ })).toHaveCount(0);
  await page.getByRole('button', { name: 'Cancel subscription' }).click();
  await expect(dialog(page)).toContainText('Your subscription is paused and will end on Nov 30, 2026.');
  await page.getByRole('radio').first().check();
  await dialog(page).getByRole('button', { name: 'Cancel at period end' }).click();
  await expect(page.getByText("Canceled. Your subscription won't renew.")).toBeVisible();
  expect(last(recorded, /PUT .*cancel/)?.body).toMatchObject({ at: 'current_period_end', cancel_from: 'customer' });
});

test('a subscription paused beyond its period ends at once when canceled', async ({ page }) => {
  const over = { current_period_start: NOW - 40 * 86_400, current_period_end: NOW - 10 * 86_400 };
  await openPage(page, detail('sub_paused'), {
    subscriptions: [subscription({ id: 'sub_paused', status: 'paused', next_invoice: null, ...over })],
  });
  await page.getByRole('button', { name: 'Cancel subscription' }).click();
  await expect(dialog(page)).toContainText('Your subscription will end immediately.');
  await expect(dialog(page).getByRole('button', { name: 'End subscription now' })).toBeVisible();
});
