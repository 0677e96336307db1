import { expect, type Page, type Request, test } from '@playwright/test';
import {
  cardSubmit,
  checkout,
  completed,
  customer,
  customItem,
  fastSubmit,
  lineItem,
  nothingDue,
  offer,
  overdue,
  planItem,
  serve,
  subscription,
  user,
  yearly,
} from './fixtures/checkout';
import { go, type State, serveConnect, showStates, submit } from './fixtures/checkout-page';
import { expectStable, recordLayoutShifts } from './fixtures/layout-shift';

/** Subscriptions in the checkout, against mocked responses. */

const upsells = () => planItem({}, { upsell: { upsells_to_id: yearly.id, upsells_to: yearly } });
const metered = () =>
  planItem(
    {},
    {
      recurring: { interval: 'month', interval_count: 1, usage_type: 'metered' },
      unit_amount: '10000000000000000',
      currency_options: [],
    },
  );
const tiers = [
  { up_to: 2, unit_amount: '5000000000000000000', flat_amount: '0' },
  { unit_amount: '1000000000000000000', flat_amount: '0' },
];
/** The unit amount of a price with tiers is zero. */
const tiered = {
  unit_amount: '0',
  billing_scheme: 'tiered',
  tiers_mode: 'graduated',
  tiers,
  currency_options: [{ currency_id: 'pc_skt', unit_amount: '0', tiers }],
};
const trial = () => subscription({ subscription_data: { trial_period_days: 7, min_stake_amount: 3 } });
const required = {
  status: 400,
  body: { error: 'Please add the required item to your order', code: 'REQUIRE_CROSS_SELL' },
};
const limited = { status: 403, body: { error: 'limited', code: 'CUSTOMER_LIMITED' } };
const pending = { status: 200, body: { paymentIntent: null, customer } };
const pay = (page: Page) => submit(page).click();
const amount = (page: Page) => page.getByRole('textbox', { name: /^(Amount|金额)/ });

const STATES: Record<string, State> = {
  subscribe: {
    backend: { checkout: subscription({ line_items: [upsells()] }) },
    text: { en: 'save 16%', zh: '省 16%' },
  },
  trial: {
    backend: { checkout: trial() },
    text: { en: 'Start free trial · 3 SKT deposit', zh: '开始免费试用 · 押金 3 SKT' },
  },
  metered: {
    backend: { checkout: subscription({ line_items: [metered()] }) },
    text: { en: 'billed by usage per month', zh: '每月按用量计费' },
  },
  'mixed cart': {
    backend: { checkout: subscription({ line_items: [planItem(), lineItem(2)] }) },
    text: { en: 'Then 5 SKT per month', zh: '之后每月 5 SKT' },
  },
  'cross-sell required': {
    backend: {
      crossSell: offer,
      submit: required,
      checkout: subscription({ cross_sell_behavior: 'required' }),
    },
    act: pay,
    text: { en: 'Please add the required item to your order.', zh: '请添加订单中的必选商品。' },
  },
  'amount refused': {
    backend: { checkout: checkout({}, { line_items: [customItem()] }) },
    act: async (page) => {
      await amount(page).fill('500');
      await amount(page).blur();
    },
    text: { en: 'Please enter an amount between 1 SKT and 100 SKT.', zh: '请输入 1 SKT 到 100 SKT 之间的金额。' },
  },
  'fast pay': {
    backend: { submit: fastSubmit, checkout: subscription() },
    act: pay,
    text: { en: 'Confirm your payment', zh: '确认付款' },
  },
  'past due': {
    backend: { submit: limited, overdue: overdue(true) },
    act: pay,
    text: {
      en: 'To pay by card, open the details page.',
      zh: '如需用银行卡付款，请前往详情页。',
    },
  },
  'past due failed': {
    backend: {
      submit: limited,
      overdue: { errorStatus: 500, body: { error: 'Sorry, something went wrong.', code: 'INTERNAL' } },
    },
    act: pay,
    text: { en: "We couldn't load your invoices", zh: '无法加载账单' },
  },
  subscribed: {
    backend: {
      checkout: completed(
        {},
        {
          mode: 'subscription',
          line_items: [
            planItem(),
            planItem({ price_id: 'price_2' }, { id: 'price_2', product: { name: 'Lantern Vault', metadata: {} } }),
          ],
          entitlements: [],
          subscriptions: [
            { id: 'sub_1', price_ids: ['price_1'] },
            { id: 'sub_2', price_ids: ['price_2'] },
          ],
        },
      ),
    },
    text: { en: 'Subscription started', zh: '订阅成功' },
  },
  'trial started': {
    backend: {
      checkout: completed(
        { paymentIntent: null },
        {
          mode: 'subscription',
          payment_status: 'no_payment_required',
          amount_total: '0',
          line_items: [planItem()],
          subscription_data: { trial_period_days: 7 },
          due: { now: '0', renew: '5000000000000000000', stake: '0', trial_end: 4_102_444_800 },
          entitlements: [],
          subscription_id: 'sub_1',
        },
      ),
    },
    text: { en: 'Free trial started', zh: '免费试用已开始' },
  },
};

showStates(STATES);

test.describe('the price of a subscription', () => {
  test('shows one amount with the refundable deposit, and the charge after the trial', async ({ page }) => {
    await serve(page, { checkout: trial() });
    await go(page);
    await expect(page).toHaveTitle('Try Lantern Cloud · 3 SKT');
    await expect(page.getByRole('heading', { name: 'Try Lantern Cloud' })).toBeVisible();
    await expect(page.getByTestId('total')).toHaveText('Total due now 3 SKT');
    await expect(page.getByText('7 days free, then 5 SKT per month', { exact: true })).toBeVisible();
    await expect(page.getByText('Refundable deposit of 3 SKT', { exact: true })).toBeVisible();
    await expect(page.getByTestId('due')).toHaveText('3 SKT');
    await expect(submit(page)).toHaveText('Start free trial · 3 SKT deposit');
    await page.getByText('Card, USD').click();
    await expect(page).toHaveTitle('Try Lantern Cloud · 7 days free');
    await expect(page.getByTestId('total')).toHaveText('7 days free');
    await expect(page.getByText('Then $5.00 per month', { exact: true })).toBeVisible();
    await expect(page.getByTestId('due')).toHaveText('$0.00');
    await expect(submit(page)).toHaveText('Start free trial');
  });

  test('with tiers is the amount for the quantity, not a unit amount of zero', async ({ page }) => {
    const product = (name: string, unit_label: string) => ({ id: 'prod_1', name, unit_label, images: [] });
    const seats = planItem({ quantity: 3 }, { ...tiered, product: product('Lantern Seats', 'seat') });
    const { backend } = await serve(page, {
      crossSell: { ...offer, ...tiered, type: 'recurring', recurring: { interval: 'month', interval_count: 1 } },
      checkout: subscription({ line_items: [seats], cross_sell_behavior: 'required' }),
    });
    await go(page);
    const summary = page.getByRole('region', { name: 'Subscribe to Lantern Seats' });
    await expect(summary.getByRole('listitem')).toContainText('11 SKT/ month');
    await expect(summary.getByText('Tiered pricing / seat / month', { exact: true })).toBeVisible();
    await expect(summary.getByText('5 SKT / month', { exact: true })).toBeVisible();
    await expect(summary).not.toContainText(/\b0 SKT/);

    const recurring = { interval: 'month', interval_count: 1, usage_type: 'metered' };
    const calls = planItem({}, { ...tiered, recurring, product: product('Lantern Calls', 'call') });
    backend.checkout = subscription({ line_items: [calls] });
    await page.reload();
    await expect(page.getByTestId('total')).toHaveText('Tiered pricing / call');
    await expect(page.getByRole('listitem').filter({ hasText: 'Lantern Calls' })).toContainText(
      'Tiered pricing/ call, billed monthly',
    );
  });

  test('is shown on each payment option', async ({ page }) => {
    const optionAmount = (name: RegExp) => page.locator('.k-card').filter({ hasText: name }).locator('.k-card-aside');
    const { backend } = await serve(page, {
      checkout: subscription({
        line_items: [planItem(), lineItem(2)],
        subscription_data: { trial_period_days: 7, trial_currency: 'pc_skt' },
      }),
    });
    await go(page);
    // The plan is in its trial, the other item is not; a stake of one period is added.
    await expect(optionAmount(/SKT from your wallet/)).toHaveText('10 SKT');
    await expect(submit(page)).toHaveText('Pay 10 SKT and subscribe');
    // There is no trial in USD, and cards need no stake.
    await expect(optionAmount(/Card, USD/)).toHaveText('$10.00');
    await page.getByText('Card, USD').click();
    await expect(submit(page)).toHaveText('Pay $10.00 and subscribe');
    await expect(optionAmount(/SKT from your wallet/)).toHaveText('10 SKT');

    const trial = { trial_period_days: 7, trial_currency: 'pc_usd', no_stake: true };
    backend.checkout = subscription({ subscription_data: trial });
    await page.reload();
    await expect(optionAmount(/SKT from your wallet/)).toHaveText('5 SKT');
    await expect(optionAmount(/Card, USD/)).toHaveText('$0.00');
    await expect(submit(page)).toHaveText('Start free trial');
  });

  test('is the server’s quote until the order changes', async ({ page }) => {
    const due = { now: '4000000000000000000', renew: '5000000000000000000', stake: '0' };
    await serve(page, { checkout: subscription({ line_items: [upsells()], due }) });
    await go(page);
    await expect(submit(page)).toHaveText('Pay 4 SKT and subscribe');
    await page.getByRole('switch').click();
    await expect(submit(page)).toHaveText('Pay 50 SKT and subscribe');
  });

  test('causes no layout shift while loading', async ({ page }) => {
    await recordLayoutShifts(page);
    await serve(page, { crossSell: offer, checkout: subscription({ cross_sell_behavior: 'required' }) });
    await go(page);
    await expect(page.getByRole('button', { name: 'Add Lantern Themes' })).toBeVisible();
    await expectStable(page, 0.02);
  });
});

test.describe('a change of the order', () => {
  test('switches to the longer interval and back', async ({ page }) => {
    const { recorded } = await serve(page, { checkout: subscription({ line_items: [upsells()] }) });
    await go(page);
    const toggle = page.getByRole('switch', { name: /Pay 50 SKT per year instead/ });
    await toggle.press('Space');
    await expect(toggle).toBeChecked();
    await expect(page.getByTestId('total')).toContainText('50 SKT');
    await expect(page.locator('#announcer')).toHaveText(/The total is now 50 SKT/);
    await toggle.click();
    await expect(page.getByTestId('total')).toContainText('5 SKT');
    expect(recorded.changes).toEqual([
      ['PUT upsell', { from: 'price_1', to: 'price_year', currency_id: 'pc_skt' }],
      ['PUT downsell', { from: 'price_year' }],
    ]);
  });

  test('offers the longer interval for the whole quantity', async ({ page }) => {
    await serve(page, { checkout: subscription({ line_items: [{ ...upsells(), quantity: 3 }] }) });
    await go(page);
    const toggle = page.getByRole('switch', { name: 'Pay 150 SKT per year instead save 16%' });
    await toggle.click();
    await expect(toggle).toBeChecked();
    await expect(page.getByTestId('due')).toHaveText('150 SKT');
  });

  test('shows why it was rejected', async ({ page }) => {
    await serve(page, { checkout: subscription({ line_items: [upsells()] }) });
    await page.route('**/upsell?*', (route) =>
      route.fulfill({
        status: 400,
        json: { error: 'Currency not configured for price', code: 'CURRENCY_NOT_CONFIGURED' },
      }),
    );
    await go(page);
    await page.getByRole('switch').click();
    await expect(page.getByRole('alert')).toHaveText(
      "This order can't be paid in this currency. Please choose another one.",
    );
    await expect(submit(page)).toBeEnabled();
  });

  test('adds and removes the cross-sell', async ({ page }) => {
    const { recorded } = await serve(page, {
      crossSell: offer,
      checkout: subscription({ cross_sell_behavior: 'required' }),
    });
    await go(page);
    await page.getByRole('button', { name: 'Add Lantern Themes' }).click();
    await expect(page.getByTestId('due')).toHaveText('7 SKT');
    await expect(page.getByRole('button', { name: 'Add Lantern Themes' })).toHaveCount(0);
    await page.getByRole('button', { name: 'Remove' }).click();
    await expect(page.getByTestId('due')).toHaveText('5 SKT');
    expect(recorded.changes).toEqual([
      ['PUT cross-sell', { to: 'price_extra', currency_id: 'pc_skt' }],
      ['DELETE cross-sell', null],
    ]);
  });

  test('shakes the summary and links to the required item', async ({ page }) => {
    await serve(page, {
      crossSell: offer,
      submit: required,
      checkout: subscription({ cross_sell_behavior: 'required' }),
    });
    await go(page);
    await pay(page);
    await expect(page.locator('[data-shake]')).toHaveCSS('animation-duration', '1s');
    await expect(page.locator('.k-toast')).toHaveCount(1);
    await expect(page.getByRole('link', { name: 'Show the required item' })).toHaveAttribute('href', '#cross-sell');
  });

  test('accepts an amount from the presets or the field', async ({ page }) => {
    const { recorded } = await serve(page, { checkout: checkout({}, { line_items: [customItem()] }) });
    await go(page);
    await expect(amount(page)).toHaveValue('5');
    await page.getByRole('button', { name: '10 SKT' }).click();
    await expect(submit(page)).toHaveText('Pay 10 SKT');
    await amount(page).fill('0.5');
    await expect(submit(page)).toBeDisabled();
    await amount(page).blur();
    await expect(amount(page)).toHaveAccessibleDescription(/between 1 SKT and 100 SKT/);
    await amount(page).fill('2.1234567');
    await expect(page.getByText('At most 6 decimal places.')).toBeVisible();
    await amount(page).fill('2.5');
    await expect(page.locator('.extras-amount .k-error')).toHaveCount(0);
    await expect(submit(page)).toHaveText('Pay 2.5 SKT');
    await expect(submit(page)).toBeEnabled();
    expect(recorded.changes.at(-1)).toEqual([
      'PUT amount',
      { priceId: 'price_1', amount: '2500000000000000000', currencyId: 'pc_skt' },
    ]);
  });
});

test('amounts are sent one at a time, and payment waits for the last one', async ({ page }) => {
  const { recorded, backend } = await serve(page, { checkout: checkout({}, { line_items: [customItem()] }) });
  await go(page);
  await expect(submit(page)).toBeEnabled();
  backend.changeMs = 900;
  // Requests that started earlier are not counted.
  const open = new Set<Request>();
  let maxConcurrent = 0;
  page.on('request', (request) => {
    if (!request.url().includes('/amount?')) return;
    open.add(request);
    maxConcurrent = Math.max(maxConcurrent, open.size);
  });
  page.on('requestfinished', (request) => open.delete(request));
  // The page sends its initial amount by itself.
  const sent = () =>
    recorded.changes.map(([, body]) => body?.amount).filter((value) => value !== '5000000000000000000');
  await amount(page).fill('50');
  await expect.poll(sent).toEqual(['50000000000000000000']);
  await amount(page).fill('20');
  await expect(submit(page)).toBeDisabled();
  await expect(submit(page)).toBeEnabled();
  await expect(submit(page)).toHaveText('Pay 20 SKT');
  expect(maxConcurrent).toBe(1);
  expect(sent()).toEqual(['50000000000000000000', '20000000000000000000']);
});

test.describe('without a summary', () => {
  const minimal = '?mode=inline-minimal';

  test('a required item can be added and removed', async ({ page }) => {
    await serve(page, { crossSell: offer, checkout: subscription({ cross_sell_behavior: 'required' }) });
    await go(page, minimal);
    await expect(page.getByRole('heading', { name: 'Required with this order' })).toBeVisible();
    await page.getByRole('button', { name: 'Add Lantern Themes' }).click();
    await expect(submit(page)).toHaveText('Pay 7 SKT and subscribe');
    await page.getByRole('button', { name: 'Remove' }).click();
    await expect(submit(page)).toHaveText('Pay 5 SKT and subscribe');
    await expect(page.getByRole('button', { name: 'Add Lantern Themes' })).toBeVisible();
  });

  test('an amount can be chosen', async ({ page }) => {
    await serve(page, { checkout: checkout({}, { line_items: [customItem()] }) });
    await go(page, minimal);
    await amount(page).fill('12');
    await expect(submit(page)).toHaveText('Pay 12 SKT');
    await expect(submit(page)).toBeEnabled();
  });
});

test('a required cross-sell that failed to load is retried', async ({ page }) => {
  await serve(page, {
    crossSell: offer,
    submit: required,
    checkout: subscription({ cross_sell_behavior: 'required' }),
  });
  let down = true;
  let failures = 0;
  await page.route('**/cross-sell?*', (route) => {
    if (!down || route.request().method() !== 'GET') return route.fallback();
    failures++;
    return route.fulfill({ status: 500, json: {} });
  });
  await go(page);
  await expect(page.getByText("We couldn't load the item that is required with this order.")).toBeVisible();
  const before = failures;
  await pay(page);
  await expect(page.getByRole('link', { name: 'Show the required item' })).toBeVisible();
  // The rejected submit makes the page retry.
  await expect.poll(() => failures).toBe(before + 1);
  down = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('button', { name: 'Add Lantern Themes' })).toBeVisible();
});

test('links to new subscriptions are localized and keep the locale parameter', async ({ page }) => {
  const items = [
    planItem({}, { product: { name: 'Lantern Cloud', name_zh: '提灯云' } }),
    planItem({ price_id: 'price_2' }, { id: 'price_2', product: { name: 'Lantern Vault', metadata: {} } }),
  ];
  const subscriptions = [
    { id: 'sub_1', description: 'Lantern Cloud', price_ids: ['price_1'] },
    { id: 'sub_2', description: 'Lantern Vault', price_ids: ['price_2'] },
  ];
  const done = { mode: 'subscription', line_items: items, entitlements: [], subscriptions };
  await serve(page, { checkout: completed({}, done) });
  await go(page, '?locale=zh');
  const link = page.getByRole('link', { name: '查看提灯云' });
  await expect(link).toHaveAttribute('href', '/customer/subscription/sub_1?locale=zh');
  await expect(page.getByRole('link', { name: '查看 Lantern Vault' })).toBeVisible();
  await go(page);
  await expect(page.getByRole('link', { name: 'View Lantern Cloud' })).toHaveAttribute(
    'href',
    '/customer/subscription/sub_1',
  );
});

test.describe('submitting', () => {
  for (const mode of ['subscription', 'setup']) {
    test(`opens a ${mode} connection that can have several steps`, async ({ page }) => {
      const { backend } = await serve(page, { submit: pending, checkout: subscription({ mode }) });
      const requests: string[] = [];
      page.on('request', (request) => {
        const action = /\/api\/did\/(\w+)\/token/.exec(request.url())?.[1];
        if (action) requests.push(action);
      });
      const connect = await serveConnect(page);
      await go(page);
      await expect(page.getByText("We'll send your receipt to this address.")).toHaveCount(mode === 'setup' ? 0 : 1);
      await pay(page);
      await expect(page.getByRole('dialog', { name: 'Subscribe to Lantern Cloud' })).toBeVisible();
      await expect.poll(() => connect.tokens[0]?.get('checkoutSessionId')).toBe('cs_1');
      expect(requests).toEqual([mode]);
      connect.status = 'scanned';
      await expect(page.getByText(/Your wallet is connected/).first()).toBeVisible();
      connect.step = 1;
      await expect(page.getByText(/^Confirm each request in your wallet/).first()).toBeVisible();
      connect.status = 'succeed';
      await expect(page.getByTestId('paying')).toBeVisible();
      backend.checkout = completed({}, { mode, line_items: [planItem()], subscription_id: 'sub_1' });
      const text = mode === 'setup' ? /The first payment is due when its first period ends\.$/ : /is active\.$/;
      await expect(page.getByText(text)).toBeVisible();
      await expect(page.getByRole('link', { name: 'View subscription' })).toHaveAttribute(
        'href',
        '/customer/subscription/sub_1',
      );
    });
  }

  test('saves a card during a trial', async ({ page }) => {
    const stripeContext = {
      client_secret: 'seti_1_secret_x',
      intent_type: 'setup_intent',
      status: 'requires_payment_method',
    };
    await serve(page, {
      submit: { ...cardSubmit, body: { ...cardSubmit.body, paymentIntent: null, stripeContext } },
      checkout: subscription({ subscription_data: { trial_period_days: 7 } }),
    });
    await go(page, '?currencyId=pc_usd');
    await pay(page);
    await expect(page.getByRole('dialog').getByRole('button', { name: 'Save card' })).toBeVisible();
  });
});

test.describe('fast pay', () => {
  test('pays with the mandate after confirmation', async ({ page }) => {
    const { recorded, backend } = await serve(page, { submit: fastSubmit });
    await go(page);
    await pay(page);
    const dialog = page.getByRole('dialog', { name: 'Confirm your payment' });
    await expect(dialog).toContainText('z1abc');
    expect(recorded.fastPaid).toEqual([]);
    await dialog.getByRole('button', { name: 'Pay 5 SKT' }).click();
    await expect(page.getByTestId('paying')).toBeVisible();
    expect(recorded.fastPaid).toEqual(['delegation 5000000000000000000']);
    backend.checkout = completed();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
  });

  test('returns to the order on cancel', async ({ page }) => {
    const { recorded } = await serve(page, { submit: fastSubmit });
    await go(page);
    await pay(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await expect(submit(page)).toBeEnabled();
    expect(recorded.fastPaid).toEqual([]);
  });

  test('falls back to the wallet if it fails', async ({ page }) => {
    await serve(page, { submit: fastSubmit, fast: { status: 200, body: { fastPaid: false } } });
    await serveConnect(page);
    await go(page);
    await pay(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Pay 5 SKT' }).click();
    await expect(page.locator('.k-toast')).toHaveText(/The payment didn't go through/);
    await expect(page.getByText('Open the sandbox wallet')).toBeVisible();
  });

  test('falls back to the wallet if another account has signed in', async ({ page }) => {
    const { backend, recorded } = await serve(page, { submit: fastSubmit });
    await serveConnect(page);
    await go(page);
    await pay(page);
    backend.user = { ...user, did: 'z1other', connectedAccounts: [] };
    await page.getByRole('dialog').getByRole('button', { name: 'Pay 5 SKT' }).click();
    await expect(page.locator('.k-toast')).toHaveText('Account changed, please pay manually.');
    await expect(page.getByText('Open the sandbox wallet')).toBeVisible();
    expect(recorded.fastPaid).toEqual([]);
  });

  test('is not offered without a sufficient mandate or balance, nor for a donation', async ({ page }) => {
    const { backend } = await serve(page, {
      submit: { status: 200, body: { ...fastSubmit.body, delegation: { sufficient: false } } },
    });
    await serveConnect(page);
    await go(page);
    await pay(page);
    await expect(page.getByText('Open the sandbox wallet')).toBeVisible();
    backend.submit = { ...fastSubmit };
    backend.checkout = checkout({}, { submit_type: 'donate' });
    await page.reload();
    await pay(page);
    await expect(page.getByText('Open the sandbox wallet')).toBeVisible();
  });
});

/**
 * The text is visible for about a second. An observer sees it however slow the machine is, where a later look could come
 * too late. Returns a function that waits for it.
 */
async function watchForPaidText(page: Page): Promise<() => Promise<unknown>> {
  const seen = await page.evaluateHandle(() => {
    const state = { paid: false };
    const inspect = () => {
      state.paid ||= [...document.querySelectorAll('dialog[open]')].some((each) => each.textContent?.includes('Paid'));
    };
    new MutationObserver(inspect).observe(document.body, { subtree: true, childList: true, characterData: true });
    return state;
  });
  return () => expect.poll(() => seen.evaluate((state) => state.paid)).toBe(true);
}

test.describe('past-due invoices', () => {
  test('are paid by wallet, and the order is submitted again', async ({ page }) => {
    const { backend, recorded } = await serve(page, { submit: limited });
    const connect = await serveConnect(page);
    await go(page);
    await pay(page);
    const dialog = page.getByRole('dialog', { name: 'You have unpaid invoices' });
    await expect(dialog).toContainText('You have 2 unpaid invoices: 3.5 SKT, Wallet (ArcBlock).');
    await expect(page.locator('.k-toast')).toHaveCount(0);
    await dialog.getByRole('button', { name: 'Pay 3.5 SKT' }).click();
    await expect(page.getByRole('dialog', { name: 'Pay overdue invoices' })).toBeVisible();
    await expect.poll(() => connect.tokens[0]?.get('currencyId')).toBe('pc_skt');
    expect(connect.tokens[0]?.get('customerId')).toBe('cus_1');
    connect.status = 'succeed';
    await expect(dialog).toContainText('Confirming…');
    connect.status = 'created';
    backend.submit = pending;
    const paidShown = await watchForPaidText(page);
    backend.overdue = nothingDue;
    await paidShown();
    await expect(dialog).toHaveCount(0);
    await expect(page.getByText('Open the sandbox wallet')).toBeVisible();
    expect(recorded.submits).toHaveLength(2);
  });

  test('reload when one of this customer is paid, but not for other customers', async ({ page }) => {
    const { backend } = await serve(page, { submit: limited });
    let paid: (customer: string) => void = () => {};
    await page.routeWebSocket(/\/\.well-known\/service\/relay/, (socket) => {
      paid = (customer_id) =>
        socket.send(
          JSON.stringify([
            null,
            null,
            'relay:zNKpid:events',
            'invoice.paid',
            { status: 'ok', response: { customer_id } },
          ]),
        );
    });
    let requests = 0;
    page.on('request', (request) => {
      if (request.url().includes('/overdue/invoices')) requests++;
    });
    await page.clock.install();
    await go(page);
    await pay(page);
    const dialog = page.getByRole('dialog', { name: 'You have unpaid invoices' });
    await expect(dialog).toContainText('2 unpaid invoices: 3.5 SKT');
    const before = requests;
    backend.overdue = nothingDue;
    paid('cus_other');
    await page.clock.runFor(6000);
    expect(requests).toBe(before);
    const paidShown = await watchForPaidText(page);
    paid('cus_1');
    await page.clock.runFor(1100);
    await paidShown();
    expect(requests).toBe(before + 1);
  });

  test('of a card link to their page', async ({ page }) => {
    await serve(page, { submit: limited, overdue: overdue(true) });
    await go(page);
    await pay(page);
    await expect(page.getByRole('link', { name: 'Details of $7.00' })).toHaveAttribute(
      'href',
      /\/customer\/invoice\/past-due\?referer=http/,
    );
  });

  test('can be reloaded after an error, and dismissed', async ({ page }) => {
    const { backend } = await serve(page, {
      submit: limited,
      overdue: { errorStatus: 500, body: { error: 'Sorry, something went wrong.', code: 'INTERNAL' } },
    });
    await go(page);
    await pay(page);
    await expect(page.getByText("We couldn't load your invoices")).toBeVisible();
    backend.overdue = overdue();
    await page.getByRole('dialog').getByRole('button', { name: 'Try again' }).click();
    await expect(page.getByRole('button', { name: 'Pay 3.5 SKT' })).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await expect(page.getByRole('link', { name: 'Pay overdue invoices' })).toBeVisible();
  });
});
