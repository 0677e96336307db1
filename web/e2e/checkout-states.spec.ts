import { expect, type Page, test } from '@playwright/test';
import { type Backend, cardSubmit, checkout, completed, fieldProblem, lineItem, serve } from './fixtures/checkout';
import { accessible, go, type State, serveConnect, showStates, submit } from './fixtures/checkout-page';
import { delayResponse } from './fixtures/delay-response';
import { expectStable, recordLayoutShifts } from './fixtures/layout-shift';

/** Every state of the checkout with mocked responses, in both languages, with accessibility checks. */

const required = () =>
  checkout(
    { customer: null },
    {
      billing_address_collection: 'required',
      phone_number_collection: { enabled: true },
      line_items: [
        lineItem(
          1,
          { quantity: 2, adjustable_quantity: { enabled: true, minimum: 1, maximum: 99 } },
          { quantity_available: 5, quantity_sold: 2 },
        ),
        lineItem(2),
        lineItem(3),
      ],
      metadata: { page_info: { form_purpose_description: { en: 'Needed for the tax office.', zh: '税务需要。' } } },
    },
  );
const fillCard = async (page: Page, number = '4242 4242 4242 4242') => {
  await page.locator('#card_number').fill(number);
  await page.locator('#card_expiry').fill('12/34');
  await page.locator('#card_cvc').fill('123');
};
const payByCard = async (page: Page) => {
  await submit(page).click();
  await fillCard(page);
  await page.locator('dialog button[type=submit]').click();
};

const STATES: Record<string, State> = {
  loading: { backend: { delayMs: 20_000 }, text: { en: 'Loading your order…', zh: '正在加载订单…' } },
  form: { text: { en: 'Pay 5 SKT', zh: '支付 5 SKT' } },
  'form with everything asked for': {
    backend: { checkout: required() },
    query: '?currencyId=pc_usd',
    long: true,
    text: { en: 'Needed for the tax office.', zh: '税务需要。' },
  },
  'form with errors': {
    backend: { checkout: required() },
    act: (page) => submit(page).click(),
    long: true,
    text: { en: 'Please check these entries', zh: '请检查以下内容' },
  },
  'signed out': {
    backend: { user: null, checkout: checkout({ customer: null }) },
    text: { en: 'Sign in to pay', zh: '登录后付款' },
  },
  oops: {
    backend: {
      checkout: { errorStatus: 404, body: { error: 'Sorry, the page you visited does not exist.', code: 'NOT_FOUND' } },
    },
    text: { en: 'Oops', zh: '出错了' },
  },
  'wrong id': {
    id: 'in_1',
    text: {
      en: 'This link is incomplete. Please ask the seller for a new one.',
      zh: '此链接不完整，请向卖家索取新的链接。',
    },
  },
  expired: {
    backend: { checkout: checkout({}, { status: 'expired', expires_at: 1000 }) },
    text: { en: /^This link has expired and you have not been charged\. /, zh: /^此链接已过期/ },
  },
  'expired by the clock': {
    backend: { checkout: checkout({}, { expires_at: 1000 }) },
    text: { en: /^The time to pay for this order is up\. /, zh: /^此订单的付款时间已过/ },
  },
  empty: {
    backend: { checkout: checkout({}, { line_items: [] }) },
    text: { en: /This checkout isn't set up correctly/, zh: /此订单的设置有误/ },
  },
  'no method': {
    backend: { checkout: checkout({ paymentMethods: [] }) },
    text: { en: 'No payment method available', zh: '暂无可用的支付方式' },
  },
  'sandbox off at the start': {
    id: 'plink_1',
    backend: { checkout: { errorStatus: 503, body: { error: 'The sandbox is off.', code: 'SANDBOX_OFF' } } },
    text: { en: 'Test payments are switched off', zh: '测试付款已关闭' },
  },
  'sandbox off meanwhile': {
    backend: { checkout: checkout({ paymentMethods: [] }), store: { sandbox: false } },
    text: { en: 'Test payments are switched off', zh: '测试付款已关闭' },
  },
  'customer limited': {
    backend: { submit: { status: 403, body: { error: 'limited', code: 'CUSTOMER_LIMITED' } } },
    act: (page) => submit(page).click(),
    text: { en: 'You have unpaid invoices', zh: '你有未付账单' },
  },
  wallet: {
    act: async (page) => {
      await serveConnect(page);
      await submit(page).click();
    },
    text: { en: 'Open the sandbox wallet', zh: '打开沙盒钱包' },
  },
  card: {
    backend: { submit: cardSubmit },
    query: '?currencyId=pc_usd',
    act: (page) => submit(page).click(),
    text: { en: 'Card number', zh: '卡号' },
  },
  'card declined': {
    backend: {
      submit: cardSubmit,
      card: { status: 402, body: { error: { decline_code: 'insufficient_funds', message: 'x' } } },
    },
    query: '?currencyId=pc_usd',
    act: payByCard,
    text: { en: 'Your card has insufficient funds.', zh: '你的银行卡余额不足。' },
  },
  'second step': {
    backend: { submit: cardSubmit, card: { status: 200, body: { id: 'pi_1', status: 'requires_action' } } },
    query: '?currencyId=pc_usd',
    act: payByCard,
    text: { en: 'Verify your payment', zh: '验证你的付款' },
  },
  paying: {
    backend: { checkout: checkout({ paymentIntent: { id: 'pi_1', status: 'processing' } }) },
    text: { en: 'Confirming your payment', zh: '正在确认付款' },
  },
  'completed with an unconfirmed address': {
    backend: {
      checkout: completed(),
      emailConfirmation: { email: 'mei@example.com', confirmed: false, requested: false },
    },
    act: (page) => page.getByRole('button', { name: /^(Send a confirmation link|发送确认链接)$/ }).click(),
    text: { en: /^We've sent a link to mei@example\.com/, zh: /^链接已发送至 mei@example\.com/ },
  },
  'completed without a mail server': {
    backend: { checkout: completed(), store: { mail_server: false } },
    text: { en: /^This test store can't send email/, zh: /^此测试商店无法发送邮件/ },
  },
  completed: { backend: { checkout: completed() }, text: { en: 'Payment successful', zh: '付款成功' } },
};

showStates(STATES);

test.describe('the page', () => {
  test('has a title, one main landmark, and no horizontal scrolling at 320 px', async ({ page }) => {
    await page.setViewportSize({ width: 320, height: 640 });
    await serve(page, { checkout: required() });
    await go(page);
    await expect(page).toHaveTitle('Buy Lantern Notes and 2 more items · 20 SKT');
    await expect(page.getByRole('main')).toHaveCount(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  });

  test('has targets of 44 px and inputs of 16 px', async ({ page }) => {
    await serve(page, { checkout: required() });
    await go(page);
    await submit(page).waitFor();
    for (const control of await page
      .locator('main button:visible, main input[type=text]:visible, main select:visible')
      .all()) {
      expect(
        (await control.boundingBox())?.height,
        await control.evaluate((each) => each.outerHTML),
      ).toBeGreaterThanOrEqual(44);
    }
    const sizes = await page
      .locator('input.k-input, select.k-input')
      .evaluateAll((all) => all.map((each) => getComputedStyle(each).fontSize));
    expect(new Set(sizes)).toEqual(new Set(['16px']));
  });

  test('replaces its URL by the session after starting a link, and starts once', async ({ page }) => {
    const { recorded } = await serve(page);
    await go(page, '?foo=1', 'plink_1');
    await expect(page).toHaveURL(/\/checkout\/pay\/cs_1\?foo=1$/);
    expect(recorded.starts).toBe(1);
  });

  test('keeps its URL in inline mode, without header or back link', async ({ page }) => {
    await serve(page);
    await go(page, '?mode=inline', 'plink_1');
    await submit(page).waitFor();
    await expect(page).toHaveURL(/plink_1/);
    await expect(page.getByRole('banner')).toHaveCount(0);
    await expect(page.getByRole('link', { name: /Back|Cancel/ })).toHaveCount(0);
  });

  test('keeps the started session on sign-in, also in inline mode', async ({ page }) => {
    await page.clock.install();
    const item = lineItem(1, { adjustable_quantity: { enabled: true } });
    const { backend, recorded } = await serve(page, {
      user: null,
      checkout: checkout({ customer: null }, { line_items: [item] }),
    });
    const connect = await serveConnect(page);
    await go(page, '?mode=inline', 'plink_1');
    await page.getByRole('button', { name: 'Increase quantity' }).click();
    await expect(page.getByTestId('total')).toContainText('10 SKT');
    // After the time in which repeated starts share a response.
    await page.clock.fastForward(3200);
    await submit(page).click();
    const { user } = await import('./fixtures/checkout');
    backend.user = user;
    connect.status = 'succeed';
    await expect(submit(page)).toHaveText('Pay 10 SKT');
    expect([recorded.starts, recorded.retrieves]).toEqual([1, 1]);
  });

  test('does not reload a loaded order when the network returns', async ({ page }) => {
    const { recorded } = await serve(page);
    let down = true;
    await page.route('**/api/checkout-sessions/start/**', (route) => (down ? route.abort() : route.fallback()));
    await go(page, '?mode=inline', 'plink_1');
    await expect(page.getByText(/You're offline/)).toBeVisible();
    down = false;
    await expect(submit(page)).toBeVisible();
    for (let i = 0; i < 2; i++) await page.evaluate(() => window.dispatchEvent(new Event('online')));
    // Any request caused by the events has started before this one.
    await page.evaluate(async () => {
      for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
      await fetch('/api/settings');
    });
    expect([recorded.starts, recorded.retrieves]).toEqual([1, 0]);
  });

  test('hides the summary in the minimal modes', async ({ page }) => {
    await serve(page);
    for (const mode of ['standalone-minimal', 'inline-minimal']) {
      await go(page, `?mode=${mode}`);
      await expect(submit(page)).toHaveText('Pay 5 SKT');
      await expect(page.getByTestId('total')).toHaveCount(0);
    }
  });

  test('causes no layout shift while loading', async ({ page }) => {
    await recordLayoutShifts(page);
    await serve(page, { delayMs: 900 });
    await go(page);
    await submit(page).waitFor();
    await page.waitForLoadState('networkidle');
    await expectStable(page, 0.02);
  });

  test('hides its skeleton from screen readers and announces only a slow load', async ({ page }) => {
    await serve(page, { delayMs: 20_000 });
    await go(page);
    await expect(page.getByTestId('skeleton')).toBeVisible();
    await expect(page.locator('.k-skeleton:not([aria-hidden="true"])')).toHaveCount(0);
    await expect(page.getByRole('status').filter({ hasText: 'Loading your order' })).toHaveCount(1);
  });

  test('makes no third-party request before a card is chosen', async ({ page }) => {
    const { recorded } = await serve(page);
    await go(page);
    await submit(page).waitFor();
    expect(recorded.foreign).toEqual([]);
  });

  test('shows when it is offline and recovers by itself', async ({ page, context }) => {
    await serve(page);
    let down = true;
    await page.route('**/api/checkout-sessions/retrieve/**', (route) => (down ? route.abort() : route.fallback()));
    await go(page);
    await expect(page.getByText(/You're offline/)).toBeVisible();
    down = false;
    await expect(submit(page)).toHaveText('Pay 5 SKT');
    await context.setOffline(true);
    await expect(page.getByText(/You're offline/)).toBeVisible();
    await context.setOffline(false);
    await expect(page.getByText(/You're offline/)).toBeHidden();
  });

  test('warns before it expires, and then shows that it has', async ({ page }) => {
    await page.clock.install();
    await serve(page, { checkout: checkout({}, { expires_at: Math.floor(Date.now() / 1000) + 50 }) });
    await go(page);
    await expect(page.getByRole('status').filter({ hasText: 'This page expires in 1 minute.' })).toBeVisible();
    await page.clock.fastForward(60_000);
    await expect(page.getByRole('heading', { name: 'This link has expired' })).toBeVisible();
    await expect(page.getByRole('link', { name: 'Start again' })).toHaveAttribute('href', /\/apps\/z8iZ1$/);
  });

  test('keeps polling a payment that was processing at the expiry', async ({ page }) => {
    const paymentIntent = { id: 'pi_1', status: 'processing' };
    const { backend } = await serve(page, { checkout: checkout({ paymentIntent }, { expires_at: 1000 }) });
    await go(page);
    await expect(page.getByTestId('paying')).toBeVisible();
    backend.checkout = completed();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeFocused();
  });

  test('does not expire by the local clock while the wallet dialog is open', async ({ page }) => {
    const expires_at = Math.floor(Date.now() / 1000) + 6;
    const { backend } = await serve(page, { checkout: checkout({}, { expires_at }) });
    const connect = await serveConnect(page);
    await go(page);
    await submit(page).click();
    await expect(page.getByRole('dialog', { name: 'Pay 5 SKT' })).toBeVisible();
    // Uses real time: a mocked clock would also end the running requests.
    await expect.poll(() => Date.now() / 1000, { timeout: 10_000 }).toBeGreaterThan(expires_at + 1);
    await expect(page.getByRole('dialog', { name: 'Pay 5 SKT' })).toBeVisible();
    connect.status = 'succeed';
    await expect(page.getByTestId('paying')).toBeVisible({ timeout: 10_000 });
    backend.checkout = completed();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible({ timeout: 10_000 });
  });

  test('confirms that nothing was charged only if the server says so', async ({ page }) => {
    const { backend } = await serve(page, { checkout: checkout({}, { expires_at: 1000 }) });
    await go(page);
    const alert = page.getByRole('alert');
    await expect(alert).toContainText(/don't pay again/);
    await expect(alert).not.toContainText('not been charged');
    backend.checkout = checkout({}, { status: 'expired', expires_at: 1000 });
    await expect(alert).toContainText('not been charged', { timeout: 10_000 });
  });

  test('finds a payment that completed after the expiry', async ({ page }) => {
    const { backend } = await serve(page, { checkout: checkout({}, { expires_at: 1000 }) });
    await go(page);
    await expect(page.getByRole('alert')).toContainText(/don't pay again/);
    backend.checkout = completed({}, { expires_at: 1000 });
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible({ timeout: 10_000 });
  });

  test('shows that a link names no order, without a retry', async ({ page }) => {
    await serve(page, {
      checkout: { errorStatus: 404, body: { error: 'Sorry, the page you visited does not exist.', code: 'NOT_FOUND' } },
    });
    await go(page);
    await expect(page.getByRole('alert')).toContainText('Sorry, the page you visited does not exist.');
    await expect(page.getByRole('link', { name: 'Back to store' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Try again' })).toHaveCount(0);
  });

  test('shows the error message, and retries', async ({ page }) => {
    const { backend } = await serve(page, {
      checkout: { errorStatus: 500, body: { error: 'Sorry, something went wrong.', code: 'INTERNAL' } },
    });
    await go(page);
    await expect(page.getByRole('alert')).toContainText('Sorry, something went wrong.');
    backend.checkout = checkout();
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect(submit(page)).toBeVisible();
  });

  test('shows a contradictory order as an error', async ({ page }) => {
    const custom = lineItem(2, {}, { custom_unit_amount: { preset: '1' } });
    await serve(page, { checkout: checkout({}, { line_items: [lineItem(1), custom] }) });
    await go(page);
    await expect(page.getByRole('alert')).toContainText(
      'An order can contain only one item with an amount of your choice.',
    );
  });

  test('links back to the seller’s URL', async ({ page }) => {
    await serve(page);
    await go(page);
    for (const name of [/Back to Souk Demo/, 'Cancel and return']) {
      await expect(page.getByRole('link', { name })).toHaveAttribute('href', /\/apps\/z8iZ1$/);
    }
  });

  test('switches the language without a reload', async ({ page }) => {
    await serve(page);
    await go(page);
    await page.getByRole('button', { name: '切换到中文' }).click();
    await expect(submit(page)).toHaveText('支付 5 SKT');
    await expect(page.locator('html')).toHaveAttribute('lang', 'zh');
    await expect(page).toHaveTitle('购买 Lantern Notes · 5 SKT');
  });
});

test.describe('the order', () => {
  test('collapses on a phone from three items, with the total visible', async ({ page }) => {
    await serve(page, { checkout: checkout({}, { line_items: [lineItem(1), lineItem(2), lineItem(3)] }) });
    await page.setViewportSize({ width: 390, height: 844 });
    await go(page);
    const toggle = page.getByRole('button', { name: 'Show 3 items' });
    await expect(toggle).toHaveAttribute('aria-expanded', 'false');
    await expect(page.getByText('Lantern Notes 2')).toBeHidden();
    await expect(page.getByTestId('total')).toContainText('15 SKT');
    await toggle.press('Enter');
    await expect(page.getByText('Lantern Notes 2')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Hide items' })).toHaveAttribute('aria-expanded', 'true');
    await page.setViewportSize({ width: 1280, height: 800 });
    await expect(page.getByRole('button', { name: /items/ })).toHaveCount(0);
  });

  test('changes the quantity, announces the total, and rejects more than the stock', async ({ page }) => {
    const { recorded } = await serve(page, { checkout: required() });
    await page.setViewportSize({ width: 1280, height: 800 });
    await go(page);
    const box = page.getByRole('textbox', { name: 'Quantity of Lantern Notes' });
    await page.getByRole('button', { name: 'Increase quantity' }).click();
    await expect(page.getByTestId('total')).toContainText('25 SKT');
    expect(recorded.adjusted).toEqual([{ itemId: 'price_1', quantity: 3 }]);
    await expect(page.locator('#announcer')).toHaveText(/The total is now 25 SKT/);
    await box.fill('4');
    await box.blur();
    await expect(page.getByText(/^Not enough in stock/)).toBeVisible();
    await expect(submit(page)).toBeDisabled();
    await box.fill('1');
    await box.press('Enter');
    await expect(submit(page)).toBeEnabled();
    await expect(page.getByTestId('total')).toContainText('15 SKT');
  });

  const several = () =>
    checkout({}, { line_items: [lineItem(1, { adjustable_quantity: { enabled: true, minimum: 1, maximum: 10 } })] });
  const quantity = (page: Page) => page.getByRole('textbox', { name: 'Quantity of Lantern Notes' });

  test('cannot be paid while the quantity is invalid', async ({ page }) => {
    const { recorded } = await serve(page, { checkout: several() });
    await go(page);
    for (const wrong of ['99', 'abc', '0', '']) {
      await quantity(page).fill(wrong);
      await quantity(page).blur();
      await expect(quantity(page)).toHaveAccessibleDescription('Enter a whole number from 1 to 10.');
      await expect(submit(page)).toBeDisabled();
    }
    await quantity(page).fill('1');
    await quantity(page).press('Enter');
    await expect(page.locator('.k-error')).toHaveCount(0);
    await expect(submit(page)).toBeEnabled();
    expect(recorded.adjusted).toEqual([]);
  });

  test('ends at the last quantity, although an earlier request was still running', async ({ page }) => {
    const { recorded } = await serve(page, { checkout: several(), changeMs: 800 });
    await go(page);
    await page.getByRole('button', { name: 'Increase quantity' }).click();
    await expect.poll(() => recorded.adjusted.length).toBe(1);
    await page.getByRole('button', { name: 'Decrease quantity' }).click();
    await expect(quantity(page)).toHaveValue('1');
    await expect(submit(page)).toBeDisabled();
    await expect
      .poll(() => recorded.adjusted)
      .toEqual([
        { itemId: 'price_1', quantity: 2 },
        { itemId: 'price_1', quantity: 1 },
      ]);
    await expect(submit(page)).toBeEnabled();
    await expect(submit(page)).toHaveText('Pay 5 SKT');
    await expect(quantity(page)).toHaveValue('1');
  });

  test('cannot be paid while a quantity is being saved', async ({ page }) => {
    const { recorded } = await serve(page, { checkout: several(), changeMs: 800 });
    await go(page);
    await page.getByRole('button', { name: 'Increase quantity' }).click();
    await expect.poll(() => recorded.adjusted.length).toBe(1);
    await page.getByRole('button', { name: 'Increase quantity' }).click();
    await expect.poll(() => recorded.adjusted.length).toBe(2);
    // The first request has completed, the second has not: they run one after the other.
    await expect(page.getByTestId('total')).toContainText('10 SKT');
    await expect(quantity(page)).toHaveValue('3');
    await expect(submit(page)).toBeDisabled();
    await expect(submit(page)).toHaveText('Pay 15 SKT');
    await expect(submit(page)).toBeEnabled();
  });

  test('shows that a quantity was rejected, and can be corrected', async ({ page }) => {
    await serve(page, { checkout: several() });
    await page.route('**/adjust-quantity?*', (route) =>
      route.request().postDataJSON().quantity > 2
        ? route.fulfill({ status: 400, json: { error: 'Exceed inventory' } })
        : route.fallback(),
    );
    await go(page);
    await quantity(page).fill('3');
    await quantity(page).blur();
    await expect(quantity(page)).toHaveAccessibleDescription(/Not enough in stock/);
    await expect(submit(page)).toBeDisabled();
    await quantity(page).fill('2');
    await quantity(page).blur();
    await expect(submit(page)).toHaveText('Pay 10 SKT');
    await expect(submit(page)).toBeEnabled();
  });

  test('checks the stock before the purchase limit', async ({ page }) => {
    const limited = lineItem(
      1,
      { adjustable_quantity: { enabled: true } },
      { quantity_available: 10, quantity_sold: 0, quantity_limit_per_checkout: 2 },
    );
    await serve(page, { checkout: checkout({}, { line_items: [limited] }) });
    await go(page);
    const box = page.getByRole('textbox', { name: 'Quantity of Lantern Notes' });
    await box.fill('11');
    await box.blur();
    await expect(page.getByText(/^Not enough in stock/)).toBeVisible();
    await box.fill('3');
    await box.blur();
    await expect(page.getByText('Purchase limit exceeded. You can buy at most 2 per order.')).toBeVisible();
    await expect(box).toHaveAccessibleDescription(/Purchase limit exceeded/);
  });

  test('switches the currency with the arrow keys, remembers it, and prefers the URL parameter', async ({ page }) => {
    await serve(page);
    await go(page);
    await page.getByRole('radio', { name: /SKT from your wallet/ }).focus();
    await page.keyboard.press('ArrowDown');
    await expect(page.getByTestId('total')).toContainText('$5.00');
    await expect(page.locator('#announcer')).toHaveText(/\$5\.00/);
    await page.reload();
    await expect(page.getByRole('radio', { name: /Card, USD/ })).toBeChecked();
    await go(page, '?currencyId=pc_skt');
    await expect(page.getByRole('radio', { name: /SKT from your wallet/ })).toBeChecked();
  });

  test('starts with the card for a user without a wallet', async ({ page }) => {
    const { user } = await import('./fixtures/checkout');
    await serve(page, { user: { ...user, connectedAccounts: [] } });
    await go(page);
    await expect(page.getByRole('radio', { name: /Card, USD/ })).toBeChecked();
  });

  test('shows token amounts exactly beyond the range of a float', async ({ page }) => {
    const dear = lineItem(1, {}, { unit_amount: '12345678901234567890500000000000000000', currency_options: [] });
    await serve(page, { checkout: checkout({}, { line_items: [dear] }) });
    await go(page);
    await expect(submit(page)).toHaveText('Pay 12,345,678,901,234,567,890.5 SKT');
  });
});

test.describe('cookies', () => {
  test('show a banner once, which does not cover the pay button', async ({ page }) => {
    await serve(page, { banner: true });
    await go(page);
    const banner = page.getByRole('region', { name: 'Cookies' });
    await expect(banner).toBeVisible();
    await accessible(page);
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    const top = (await banner.boundingBox())?.y ?? 0;
    const last = page.locator('.checkout-cancel');
    await expect.poll(async () => (await last.boundingBox())?.y ?? top).toBeLessThan(top - 40);
    const pay = await submit(page).boundingBox();
    expect((pay?.y ?? 0) + (pay?.height ?? 0)).toBeLessThanOrEqual(top);
    await banner.getByRole('button', { name: 'Got it' }).click();
    await expect(banner).toHaveCount(0);
    await page.reload();
    await expect(submit(page)).toBeVisible();
    await expect(banner).toHaveCount(0);
  });

  test('show no banner in an inline checkout', async ({ page }) => {
    await serve(page, { banner: true });
    await go(page, '?mode=inline');
    await expect(submit(page)).toBeVisible();
    await expect(page.getByRole('region', { name: 'Cookies' })).toHaveCount(0);
  });
});

test.describe('the form', () => {
  test('has no fields while signed out, and signs in first', async ({ page }) => {
    const { backend } = await serve(page, { user: null, checkout: checkout({ customer: null }) });
    const connect = await serveConnect(page);
    await go(page);
    await expect(page.getByRole('textbox')).toHaveCount(0);
    await submit(page).click();
    await expect(page.getByRole('dialog', { name: 'Sign in to Souk Demo' })).toBeVisible();
    const { user } = await import('./fixtures/checkout');
    backend.user = user;
    connect.status = 'succeed';
    await expect(page.getByLabel('Full name')).toHaveValue('Mei Lin');
    await expect(submit(page)).toHaveText('Pay 5 SKT');
  });

  test('is prefilled with the known data', async ({ page }) => {
    const { customer } = await import('./fixtures/checkout');
    const knownCustomer = {
      ...customer,
      phone: '+8613800138000',
      address: { country: 'cn', line1: 'Road 1', city: 'Beijing', state: 'Beijing', postal_code: '100080' },
    };
    await serve(page, { checkout: { ...required(), customer: knownCustomer } });
    await go(page);
    await expect(page.getByLabel('Email')).toHaveValue('mei@example.com');
    await expect(page.getByLabel('Phone number')).toHaveValue('13800138000');
    await expect(page.getByLabel('Country code')).toHaveValue('cn');
    await expect(page.getByLabel('Postal code')).toHaveValue('100080');
  });

  test('has autofill attributes', async ({ page }) => {
    await serve(page, { checkout: required() });
    await go(page);
    const attributes: Record<string, string[]> = {
      customer_name: ['name', 'text', ''],
      customer_email: ['email', 'email', 'email'],
      customer_phone: ['tel-national', 'tel', 'tel'],
      'billing_address.line1': ['billing address-line1', 'text', ''],
      'billing_address.city': ['billing address-level2', 'text', ''],
      'billing_address.state': ['billing address-level1', 'text', ''],
      'billing_address.postal_code': ['billing postal-code', 'text', ''],
    };
    await submit(page).waitFor();
    for (const [id, expected] of Object.entries(attributes)) {
      const field = page.locator(`[id="${id}"]`);
      const found = await field.evaluate((each: HTMLInputElement) => [each.autocomplete, each.type, each.inputMode]);
      expect([id, ...found]).toEqual([id, ...expected]);
      await expect(field).toHaveAttribute('enterkeyhint', id.endsWith('postal_code') ? 'go' : 'next');
    }
    await expect(page.getByPlaceholder(/./)).toHaveCount(0);
  });

  test('shows an error on blur, not while typing, and clears it at once', async ({ page }) => {
    await serve(page);
    await go(page);
    const email = page.getByLabel('Email');
    await email.fill('');
    await email.pressSequentially('mei@');
    await expect(page.locator('.k-error')).toHaveCount(0);
    await email.blur();
    await expect(email).toHaveAccessibleDescription(/Enter a valid email address/);
    await expect(email).toHaveAttribute('aria-invalid', 'true');
    await email.fill('mei@example.org');
    await expect(page.locator('.k-error')).toHaveCount(0);
  });

  test('marks a valid field until it is edited again', async ({ page }) => {
    await serve(page);
    await go(page);
    const email = page.getByLabel('Email');
    const validIcon = page.locator('label[for=customer_email] .k-valid');
    await email.fill('mei@');
    await email.blur();
    await expect(email).toHaveAttribute('aria-invalid', 'true');
    await expect(validIcon).toHaveCount(0);
    await email.fill('mei@example.org');
    await expect(validIcon).toBeVisible();
    await email.pressSequentially('.');
    await expect(validIcon).toHaveCount(0);
    await email.fill('mei@example.net');
    await email.blur();
    await expect(validIcon).toBeVisible();
    await expect(email).toHaveAccessibleName('Email');
  });

  test('marks valid fields on submit, beside invalid and rejected ones', async ({ page }) => {
    const fields = { customer_name: fieldProblem('This name cannot be used') };
    await serve(page, { submit: { status: 400, body: { error: 'refused', code: 'VALIDATION', fields } } });
    await go(page);
    const validLabels = page.locator('label:has(.k-valid)');
    const name = page.getByLabel('Full name');
    const email = page.getByLabel('Email');
    await name.fill('Mei L');
    await name.blur();
    await expect(validLabels).toHaveText(['Full name']);
    await email.fill('mei@');
    await submit(page).click();
    await expect(email).toBeFocused();
    await expect(validLabels).toHaveText(['Full name']);
    await email.fill('mei@example.org');
    await expect(validLabels).toHaveText(['Full name', 'Email']);
    await submit(page).click();
    await expect(name).toHaveAccessibleDescription(/This name cannot be used/);
    await expect(validLabels).toHaveText(['Email']);
  });

  test('does not move the button when clicking it blurs an invalid field', async ({ page }) => {
    const { recorded } = await serve(page, { checkout: checkout({ customer: { address: { country: 'us' } } }) });
    await go(page, '?currencyId=pc_usd');
    await page.getByLabel('Postal code').fill('9410');
    await submit(page).click();
    await expect(page.getByLabel('Postal code')).toBeFocused();
    expect(recorded.submits).toHaveLength(0);
  });

  test('accepts autofilled values', async ({ page }) => {
    const { recorded } = await serve(page);
    await go(page);
    await page.getByLabel('Full name').evaluate((each: HTMLInputElement) => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(each, 'Filled In');
      each.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await serveConnect(page);
    await submit(page).click();
    await expect.poll(() => recorded.submits[0]?.body.customer_name).toBe('Filled In');
  });

  test('focuses the single invalid field, or a summary of several', async ({ page }) => {
    // The customer has no address, and no country is suggested.
    await serve(page, { checkout: { ...required(), customer: { address: null } } });
    await go(page);
    await submit(page).click();
    const list = page.locator('.k-alert-danger');
    await expect(list).toBeFocused();
    await expect(list.getByRole('link')).toHaveText([
      'Phone number is required',
      'Country or region is required',
      'Address is required',
      'City is required',
      'State or province is required',
      'Postal code is required',
    ]);
    for (const link of await list.getByRole('link').all()) {
      const id = (await link.getAttribute('href'))?.slice(1);
      await expect(page.locator(`[id="${id}-error"]`)).toHaveText((await link.textContent()) ?? '');
    }
    await list.getByRole('link', { name: 'City is required' }).click();
    await expect(page.getByLabel('City')).toBeFocused();
    await page.getByLabel('Country or region').selectOption('us');
    await page.getByLabel('Phone number').fill('415 555 2671');
    await page.getByLabel('Address', { exact: true }).fill('Road 1');
    await page.getByLabel('City').fill('San Francisco');
    await page.getByLabel('State or province').fill('CA');
    await page.getByLabel('Postal code').fill('9410');
    await submit(page).click();
    await expect(page.getByLabel('Postal code')).toBeFocused();
    await expect(page.getByLabel('City')).toHaveValue('San Francisco');
  });

  test('sends an international phone number, even if the phone library fails to load', async ({ page }) => {
    const { recorded } = await serve(page, { checkout: checkout({}, { phone_number_collection: { enabled: true } }) });
    await page.route(/(max|min|libphonenumber)[^/]*\.js/, (route) => route.abort());
    await serveConnect(page);
    await go(page);
    await page.getByLabel('Country code').selectOption('gb');
    await page.getByLabel('Phone number').fill('07911 123456');
    await submit(page).click();
    await expect.poll(() => recorded.submits[0]?.body.customer_phone).toBe('+447911123456');
  });

  test('validates the seller’s patterns with messages in the page language', async ({ page }) => {
    const rule = { pattern: '^[A-Z]', pattern_message: { en: 'Begin with a capital', zh: '首字母须大写' } };
    await serve(page, {
      checkout: checkout({}, { metadata: { page_info: { field_validation: { customer_name: rule } } } }),
    });
    await go(page, '?locale=zh');
    await page.getByLabel('姓名').fill('mei');
    await submit(page).click();
    await expect(page.getByLabel('姓名')).toHaveAccessibleDescription('首字母须大写');
    await expect(page.getByLabel('姓名')).toBeFocused();
  });

  test('shows the server’s field errors on their fields', async ({ page }) => {
    const fields = { customer_email: fieldProblem('This mailbox does not exist') };
    await serve(page, { submit: { status: 400, body: { error: 'refused', code: 'VALIDATION', fields } } });
    await go(page);
    await submit(page).click();
    await expect(page.getByLabel('Email')).toBeFocused();
    await expect(page.getByLabel('Email')).toHaveAccessibleDescription(/This mailbox does not exist/);
    await expect(submit(page)).toBeEnabled();
  });

  test('shows other errors in a banner, broadcasts their code, and shakes for a missing cross-sell', async ({
    page,
  }) => {
    await page.addInitScript(() => {
      const codes: string[] = [];
      (window as unknown as { codes: string[] }).codes = codes;
      for (const code of ['REQUIRE_CROSS_SELL', 'OUT_OF_TEA'])
        window.addEventListener(`error.${code}`, () => codes.push(code));
    });
    const { backend } = await serve(page, {
      submit: { status: 400, body: { error: 'Out of tea', code: 'OUT_OF_TEA' } },
    });
    await go(page);
    await submit(page).click();
    await expect(page.getByRole('alert')).toContainText('Out of tea');
    await expect(page.locator('[data-shake]')).toHaveCount(0);
    backend.submit.body = { error: 'Add the extra first', code: 'REQUIRE_CROSS_SELL' };
    await submit(page).click();
    await expect(page.getByRole('alert')).toContainText('Please add the required item to your order.');
    await expect(page.locator('[data-shake]')).toHaveCSS('animation-duration', '1s');
    expect(await page.evaluate(() => (window as unknown as { codes: string[] }).codes)).toEqual([
      'OUT_OF_TEA',
      'REQUIRE_CROSS_SELL',
    ]);
  });

  test('does not shake under reduced motion', async ({ page }) => {
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await serve(page, { submit: { status: 400, body: { error: 'Add the extra first', code: 'REQUIRE_CROSS_SELL' } } });
    await go(page);
    await submit(page).click();
    await expect(page.getByRole('alert')).toContainText('Please add the required item to your order.');
    await expect(page.locator('[data-shake]')).toHaveCSS('animation-duration', '0.001s');
  });

  test('polls if the order is already being paid', async ({ page }) => {
    const { backend } = await serve(page, {
      submit: { status: 409, body: { error: 'on its way', code: 'PAYMENT_IN_FLIGHT' } },
    });
    await go(page);
    await submit(page).click();
    await expect(page.getByTestId('paying')).toBeVisible();
    backend.checkout = completed();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
  });

  test('translates the server’s messages', async ({ page }) => {
    await serve(page, {
      submit: { status: 400, body: { error: 'This payment method is not supported', code: 'METHOD_NOT_SUPPORTED' } },
    });
    await go(page, '?locale=zh');
    await submit(page).click();
    await expect(page.getByRole('alert')).toContainText('不支持此支付方式');
  });

  test('links a limited customer to the past-due page', async ({ page }) => {
    await serve(page, { submit: { status: 403, body: { error: 'limited', code: 'CUSTOMER_LIMITED' } } });
    await go(page);
    await submit(page).click();
    const link = page.getByRole('link', { name: 'Pay overdue invoices' });
    await expect(link).toHaveAttribute('href', /\/customer\/invoice\/past-due\?referer=http[^&]*$/);
    await expect(page.locator('.k-toast')).toHaveCount(0);
    // The locale parameter is kept, also in the link to the store.
    await go(page, '?locale=zh');
    await submit(page).click();
    const inChinese = page.getByRole('alert').getByRole('link');
    await expect(inChinese).toHaveAttribute('href', /\/customer\/invoice\/past-due\?referer=http[^&]*&locale=zh$/);
    await expect(page.locator('.checkout-brand')).toHaveAttribute('href', '/?locale=zh');
  });

  test('sends one request per double click or Enter, with an idempotency key and a busy state', async ({ page }) => {
    const { recorded, backend } = await serve(page, { submit: { status: 400, body: { error: 'no' } } });
    const release = await delayResponse(page, '**/submit?*');
    await go(page);
    await submit(page).dblclick();
    await expect(submit(page)).toBeDisabled();
    await expect(submit(page)).toHaveAttribute('aria-busy', 'true');
    release();
    await expect(submit(page)).toBeEnabled();
    expect(recorded.submits).toHaveLength(1);
    await page.getByLabel('Full name').press('Enter');
    await expect.poll(() => recorded.submits.length).toBe(2);
    expect(recorded.submits[0]?.key).toBeTruthy();
    expect(recorded.submits[0]?.key).not.toBe(recorded.submits[1]?.key);
    expect(backend.submit.status).toBe(400);
  });

  test('retries a failed submit with the same idempotency key', async ({ page }) => {
    const { recorded } = await serve(page);
    await serveConnect(page);
    const keys: (string | undefined)[] = [];
    await page.route('**/api/checkout-sessions/*/submit?*', (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      return keys.length === 1 ? route.abort() : route.fallback();
    });
    await go(page);
    await submit(page).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
    expect(recorded.submits).toHaveLength(1);
  });

  test('keeps the focused field clear of the sticky bar', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 560 });
    await serve(page, { checkout: required() });
    await go(page);
    await submit(page).waitFor();
    for (const id of ['customer_phone', 'billing_address.city', 'billing_address.postal_code']) {
      await page.locator(`[id="${id}"]`).focus();
      const covered = await page.evaluate((of) => {
        const field = document.getElementById(of)?.getBoundingClientRect();
        const bar = document.querySelector('.checkout-pay')?.getBoundingClientRect();
        return field && bar ? field.bottom - bar.top : Number.NaN;
      }, id);
      expect(covered, id).toBeLessThanOrEqual(0);
    }
    await expect(submit(page)).toBeInViewport();
  });

  test('can be navigated by keyboard with a visible focus', async ({ page }) => {
    await serve(page);
    await go(page);
    await submit(page).waitFor();
    await page.getByLabel('Full name').focus();
    const path: string[] = [];
    for (let i = 0; i < 4; i++) {
      const focus = await page.evaluate(() => {
        const each = document.activeElement as HTMLElement;
        const focusTarget = (each.closest('.k-card') as HTMLElement | null) ?? each;
        return [each.getAttribute('name') ?? each.textContent ?? '', getComputedStyle(focusTarget).outlineStyle];
      });
      path.push(focus[0] ?? '');
      expect(focus[1], focus[0]).toBe('solid');
      await page.keyboard.press('Tab');
    }
    expect(path).toEqual(['customer_name', 'customer_email', 'payment_currency', 'Pay 5 SKT']);
  });
});

test.describe('paying by wallet', () => {
  test('opens no wallet if nothing is due', async ({ page }) => {
    const free = { unit_amount: '0', currency_options: [{ currency_id: 'pc_skt', unit_amount: '0' }] };
    const order = { line_items: [lineItem(1, {}, free)], amount_total: '0' };
    const done = completed({}, { ...order, payment_status: 'no_payment_required' });
    const { backend, recorded } = await serve(page, { checkout: checkout({}, order) });
    const connect = await serveConnect(page);
    await go(page);
    await submit(page).waitFor();
    backend.submit = { status: 200, body: done };
    backend.checkout = done;
    await submit(page).click();
    await expect(page.getByRole('heading', { level: 1, name: /thank|complete|order/i })).toBeVisible();
    await expect(page.getByRole('dialog')).toHaveCount(0);
    expect(connect.tokens).toHaveLength(0);
    expect(recorded.submits).toHaveLength(1);
  });

  test('opens the wallet dialog for the session and its user, traps the focus, and restores it', async ({ page }) => {
    await serve(page);
    const connect = await serveConnect(page);
    await go(page);
    await submit(page).click();
    const dialog = page.getByRole('dialog', { name: 'Pay 5 SKT' });
    await expect(dialog.getByRole('img', { name: /QR code/ })).toBeVisible();
    expect(Object.fromEntries(connect.tokens[0] ?? [])).toMatchObject({
      checkoutSessionId: 'cs_1',
      sessionUserDid: 'z1abc',
      locale: 'en',
      livemode: 'false',
    });
    await expect(dialog.getByRole('link', { name: /Open in wallet/ })).toHaveAttribute(
      'href',
      /^https:\/\/abtwallet\.io\/i\//,
    );
    for (let i = 0; i < 8; i++) {
      await page.keyboard.press('Tab');
      expect(
        await page.evaluate(
          () => document.activeElement === document.body || document.activeElement?.closest('dialog') !== null,
        ),
      ).toBe(true);
    }
    await page.keyboard.press('Escape');
    await expect(dialog).toBeHidden();
    await expect(submit(page)).toBeFocused();
    await expect.poll(() => connect.timeouts).toBe(1);
  });

  test('opens the sandbox wallet with the auth URL', async ({ page }) => {
    await serve(page);
    await serveConnect(page);
    await go(page);
    await submit(page).click();
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('button', { name: 'Open the sandbox wallet' }).click(),
    ]);
    expect(new URL(popup.url()).searchParams.get('url')).toBe('http://127.0.0.1/api/did/payment/auth?_t_=t1');
    await popup.close();
    await expect(page.getByRole('dialog')).toBeVisible();
  });

  test('goes from wallet through polling to completed, and animates once', async ({ page }) => {
    const { backend } = await serve(page);
    const connect = await serveConnect(page, 'scanned');
    await go(page);
    await submit(page).click();
    await expect(page.getByText('Your wallet is connected. Confirm there to continue.').first()).toBeVisible();
    connect.status = 'succeed';
    await expect(page.getByTestId('paying')).toBeVisible();
    await expect(page.locator('#announcer')).toHaveText(/Waiting for the network/);
    backend.checkout = completed();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeFocused();
    await expect(page.locator('.checkout-check[data-fresh]')).toHaveCount(1);
    await expect(page.locator('#announcer')).toHaveText('Payment successful.');
    await page.reload();
    await expect(page.locator('.checkout-check')).toHaveCount(1);
    await expect(page.locator('.checkout-check[data-fresh]')).toHaveCount(0);
  });

  test('closes the wallet dialog when the order is paid, focuses the heading and announces it', async ({ page }) => {
    const { backend } = await serve(page);
    // The page polls the order; the status of the wallet arrives later.
    await page.routeWebSocket(/\/\.well-known\/service\/relay/, (socket) => socket.close());
    await page.route('**/.well-known/service/relay/longpoll?**', (route) => route.abort());
    await serveConnect(page, 'scanned');
    await go(page);
    await submit(page).click();
    await expect(page.getByRole('dialog', { name: 'Pay 5 SKT' })).toBeVisible();
    backend.checkout = completed();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeFocused({ timeout: 10_000 });
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await expect(page.locator('#announcer')).toHaveText('Payment successful.');
  });

  for (const [status, title] of [
    ['error', 'Something went wrong'],
    ['busy', 'The wallet is busy'],
    ['timeout', 'The code has expired'],
    ['forbidden', 'A different wallet responded'],
  ] as const) {
    test(`shows that the connection ended in ${status}, and offers a new one`, async ({ page }) => {
      await serve(page);
      const connect = await serveConnect(page, status);
      connect.problem = status === 'error' ? { error: 'You have declined the request', code: 'CONNECT_DECLINED' } : {};
      await go(page);
      await submit(page).click();
      await expect(page.getByRole('alert')).toContainText(title);
      if (status === 'error')
        await expect(page.getByRole('alert')).toContainText('You declined the request in your wallet');
      connect.status = 'created';
      await page.getByRole('button', { name: status === 'error' ? 'Try again' : 'New code' }).click();
      await expect(page.getByRole('img', { name: /QR code/ })).toBeVisible();
      expect(connect.tokens).toHaveLength(2);
    });
  }
});

test.describe('paying by card', () => {
  const byCard = async (
    page: Page,
    card: Backend['card'] = { status: 200, body: { id: 'pi_1', status: 'succeeded' } },
  ) => {
    const mocks = await serve(page, { submit: cardSubmit, card });
    await go(page, '?currencyId=pc_usd');
    return mocks;
  };

  test('sends the card only to its processor and polls the server', async ({ page }) => {
    const { recorded, backend } = await byCard(page);
    await submit(page).click();
    await expect(page.locator('#card_number')).toBeFocused();
    await fillCard(page);
    await page.locator('#card_name').press('Enter');
    await expect(page.getByTestId('paying')).toBeVisible();
    expect(Object.fromEntries(recorded.cards[0] ?? [])).toMatchObject({
      client_secret: 'pi_1_secret_x',
      'payment_method_data[type]': 'card',
      'payment_method_data[card][number]': '4242424242424242',
      'payment_method_data[card][exp_month]': '12',
      'payment_method_data[card][exp_year]': '2034',
      'payment_method_data[billing_details][name]': 'Mei Lin',
    });
    expect(JSON.stringify(recorded.submits)).not.toContain('4242');
    backend.checkout = completed();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
  });

  test('starts polling at once if the card has already succeeded', async ({ page }) => {
    const { backend } = await byCard(page);
    backend.submit.body = { stripeContext: { client_secret: 'x', intent_type: 'payment_intent', status: 'succeeded' } };
    await submit(page).click();
    await expect(page.getByTestId('paying')).toBeVisible();
    await expect(page.getByRole('dialog')).toHaveCount(0);
  });

  test('has autofill attributes, and groups the card number', async ({ page }) => {
    await byCard(page);
    await submit(page).click();
    for (const [id, name] of [
      ['number', 'cc-number'],
      ['expiry', 'cc-exp'],
      ['cvc', 'cc-csc'],
      ['name', 'cc-name'],
    ]) {
      await expect(page.locator(`#card_${id}`)).toHaveAttribute('autocomplete', name ?? '');
    }
    await page.locator('#card_number').pressSequentially('4242424242424242');
    await expect(page.locator('#card_number')).toHaveValue('4242 4242 4242 4242');
    await page.locator('#card_expiry').pressSequentially('1234');
    await expect(page.locator('#card_expiry')).toHaveValue('12 / 34');
  });

  test('keeps the values after a decline and shows the reason', async ({ page }) => {
    const { backend } = await byCard(page, {
      status: 402,
      body: { error: { code: 'card_declined', decline_code: 'generic_decline', message: 'Your card was declined.' } },
    });
    await payByCard(page);
    await expect(page.getByRole('alert')).toContainText('Your card was declined.');
    await expect(page.getByRole('alert')).toContainText('not been charged');
    await expect(page.locator('#card_number')).toHaveValue('4242 4242 4242 4242');
    await expect(page.locator('#card_cvc')).toHaveValue('123');
    backend.card = { status: 200, body: { id: 'pi_1', status: 'succeeded' } };
    await page.locator('dialog button[type=submit]').click();
    await expect(page.getByTestId('paying')).toBeVisible();
  });

  test('shows a challenge that can be completed or failed', async ({ page }) => {
    const { recorded } = await byCard(page, {
      status: 200,
      body: { id: 'pi_1', status: 'requires_action', next_action: { type: 'use_sandbox_challenge' } },
    });
    await payByCard(page);
    await page.getByRole('button', { name: 'Fail' }).click();
    await expect(page.getByRole('alert')).toContainText('Verification failed.');
    await page.locator('dialog button[type=submit]').click();
    await page.getByRole('button', { name: 'Complete' }).click();
    await expect(page.getByTestId('paying')).toBeVisible();
    expect(recorded.authenticated).toEqual(['false', 'true']);
  });

  test('shows that a bank is slow, stays open, and can be left after a while', async ({ page }) => {
    await page.clock.install();
    const { recorded } = await byCard(page, { status: 200, body: {}, delayMs: 60_000 });
    await submit(page).click();
    await page.clock.runFor(500);
    await fillCard(page);
    await page.locator('dialog button[type=submit]').click();
    await expect(page.getByText('Processing…').first()).toBeVisible();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toBeVisible();
    await page.clock.runFor(4000);
    await expect(page.getByText(/Your bank is taking longer than usual/).first()).toBeVisible();
    await page.clock.runFor(20_000);
    await page.getByRole('button', { name: 'Close and keep checking' }).click();
    await expect(page.getByTestId('paying')).toBeVisible();
    expect(recorded.aborts).toBe(0);
  });

  test('aborts the intent when the form is closed', async ({ page }) => {
    const { recorded } = await byCard(page);
    await submit(page).click();
    await page.getByRole('button', { name: 'Close' }).click();
    await expect(page.getByRole('dialog')).toBeHidden();
    await expect(submit(page)).toBeEnabled();
    await expect.poll(() => recorded.aborts).toBe(1);
  });

  test('fills in a test card', async ({ page }) => {
    const { recorded } = await byCard(page);
    await submit(page).click();
    await page.getByText('Test cards').click();
    await page.getByRole('button', { name: 'Use the test card: Declined', exact: true }).click();
    await page.locator('dialog button[type=submit]').click();
    await expect.poll(() => recorded.cards[0]?.get('payment_method_data[card][number]')).toBe('4000000000000002');
  });

  test('loads the processor’s form only for real keys, and shows a load error', async ({ page }) => {
    const { methods } = await import('./fixtures/checkout');
    const live = methods.map((each) =>
      each.type === 'stripe' ? { ...each, settings: { stripe: { publishable_key: 'pk_test_1' } } } : each,
    );
    const { recorded } = await serve(page, { submit: cardSubmit, checkout: checkout({ paymentMethods: live }) });
    await go(page, '?currencyId=pc_usd');
    await submit(page).waitFor();
    expect(recorded.foreign).toEqual([]);
    await submit(page).click();
    await expect(page.getByRole('alert')).toContainText("We couldn't load the card form. You have not been charged.");
    expect(recorded.foreign).toEqual(['https://js.stripe.com/v3/']);
  });
});

test.describe('polling', () => {
  const processing = checkout({ paymentIntent: { id: 'pi_1', status: 'processing' } });

  test('continues after a reload', async ({ page }) => {
    const { backend } = await serve(page, { checkout: processing });
    await go(page);
    await expect(page.getByTestId('paying')).toBeVisible();
    backend.checkout = completed();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
  });

  /** Records the detail of an event on the window. */
  const listen = (page: Page, type: string) =>
    page.addInitScript((name) => {
      window.addEventListener(name, (event) => Object.assign(window, { eventDetail: (event as CustomEvent).detail }));
    }, type);
  const eventDetail = (page: Page) => page.evaluate(() => (window as unknown as { eventDetail?: unknown }).eventDetail);

  test('ends with the error of a payment that requires action', async ({ page }) => {
    await listen(page, 'error.payment_failed');
    const { backend } = await serve(page, { checkout: processing });
    await go(page);
    await expect(page.getByTestId('paying')).toBeVisible();
    backend.checkout = checkout({
      paymentIntent: {
        id: 'pi_1',
        status: 'requires_action',
        last_payment_error: { code: 'insufficient_funds', message: 'no' },
      },
    });
    await expect(page.getByRole('alert')).toContainText('Your wallet has insufficient funds.');
    await expect(submit(page)).toBeEnabled();
    expect(await eventDetail(page)).toEqual({ code: 'payment_failed', message: 'no' });
  });

  test('stops after three minutes with advice, and can check again', async ({ page }) => {
    await page.clock.install();
    await listen(page, 'error.payment_timeout');
    const { backend } = await serve(page, { checkout: processing });
    await go(page);
    await expect(page.getByTestId('paying')).toBeVisible();
    // Fast-forwards: the unit test covers the polling interval with a reliable clock.
    await page.clock.fastForward('03:01');
    await expect(page.getByRole('alert')).toContainText(/Don't pay again/);
    expect(await eventDetail(page)).toMatchObject({ code: 'payment_timeout' });
    backend.checkout = completed();
    await page.getByRole('button', { name: 'Check again' }).click();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
  });

  test('receives the completion of its session over the relay', async ({ page }) => {
    const { backend } = await serve(page);
    const frames: unknown[][] = [];
    let push: (event: string, id: string) => void = () => {};
    await page.routeWebSocket(/\/\.well-known\/service\/relay\/websocket\?vsn=2\.0\.0/, (socket) => {
      socket.onMessage((message) => {
        const frame = JSON.parse(String(message));
        frames.push(frame);
        socket.send(JSON.stringify([frame[0], frame[1], frame[2], 'phx_reply', { status: 'ok', response: {} }]));
      });
      push = (event, id) =>
        socket.send(JSON.stringify([null, null, 'relay:zNKpid:events', event, { status: 'ok', response: { id } }]));
    });
    await go(page);
    await submit(page).waitFor();
    await expect.poll(() => frames[0]?.slice(2)).toEqual(['relay:zNKpid:events', 'phx_join', {}]);
    backend.checkout = completed();
    push('checkout.session.completed', 'cs_other');
    await expect(submit(page)).toBeVisible();
    push('checkout.session.completed', 'cs_1');
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
  });

  test('receives the completion by long polling if WebSockets are blocked', async ({ page }) => {
    const { backend, recorded } = await serve(page);
    await page.routeWebSocket(/\/\.well-known\/service\/relay/, (socket) => socket.close());
    const frames: unknown[][] = [];
    const waiting: unknown[][] = [];
    let wake = () => {};
    await page.route('**/.well-known/service/relay/longpoll?**', async (route) => {
      const request = route.request();
      if (!new URL(request.url()).searchParams.get('token')) {
        return route.fulfill({ json: { status: 410, token: 'line', messages: [] } });
      }
      if (request.method() === 'POST') {
        const frame = JSON.parse(request.postData() ?? '');
        frames.push(frame);
        waiting.push([frame[0], frame[1], frame[2], 'phx_reply', { status: 'ok', response: {} }]);
        wake();
        return route.fulfill({ json: { status: 200 } });
      }
      if (waiting.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const messages = waiting.splice(0).map((frame) => JSON.stringify(frame));
      return route.fulfill({ json: { status: 200, token: 'line', messages } });
    });
    await go(page);
    await submit(page).waitFor();
    await expect.poll(() => frames[0]?.slice(2)).toEqual(['relay:zNKpid:events', 'phx_join', {}]);
    const requestsBefore = recorded.retrieves;
    backend.checkout = completed();
    const completes = (id: string) => ['checkout.session.completed', { status: 'ok', response: { id } }];
    waiting.push([null, null, 'relay:zNKpid:events', ...completes('cs_other')]);
    waiting.push([null, null, 'relay:zNKpid:events', ...completes('cs_1')]);
    wake();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
    expect(recorded.retrieves).toBe(requestsBefore + 1);
  });
});

test.describe('completed', () => {
  test('shows the amount, the apps with downloads, the invoice and the receipt', async ({ page }) => {
    await serve(page, { checkout: completed() });
    await go(page);
    await expect(page.getByText('5 SKT')).toBeVisible();
    await expect(page.getByText('Version 2.1.0')).toBeVisible();
    await expect(page.getByRole('link', { name: 'Lantern Notes', exact: true })).toHaveAttribute('href', '/apps/z8iZ1');
    await expect(page.getByRole('link', { name: 'Download Lantern Notes' })).toHaveAttribute(
      'href',
      '/api/apps/z8iZ1/2.1.0/bundle?locale=en&livemode=false',
    );
    await expect(page.getByRole('link', { name: 'View invoice' })).toHaveAttribute('href', '/customer/invoice/in_1');
    await expect(page.getByText("We'll email your receipt to mei@example.com.")).toBeVisible();
    await expect(page).toHaveTitle('Payment successful · Souk Demo');
  });

  test('shows the seller’s own message', async ({ page }) => {
    const paymentLink = {
      id: 'plink_1',
      after_completion: { hosted_confirmation: { custom_message: 'Welcome aboard!' } },
    };
    await serve(page, { checkout: completed({ paymentLink }) });
    await go(page);
    await expect(page.getByText('Welcome aboard!')).toBeVisible();
  });

  test('links to the seller’s success URL', async ({ page }) => {
    await serve(page, { checkout: completed({}, { success_url: 'https://a.example/done' }) });
    await go(page);
    await expect(page.getByRole('link', { name: 'Continue' })).toHaveAttribute('href', 'https://a.example/done');
    await expect(page.getByRole('link', { name: 'Back to store' })).toHaveCount(0);
  });

  test('lists items without an app beside the downloads', async ({ page }) => {
    await serve(page, { checkout: completed({}, { line_items: [lineItem(), lineItem(2)] }) });
    await go(page);
    await expect(page.getByRole('listitem')).toContainText(['Version 2.1.0', 'Lantern Notes 2']);
    await expect(page.getByRole('listitem')).toHaveCount(2);
  });

  test('lists the items if nothing can be downloaded', async ({ page }) => {
    await serve(page, { checkout: completed({}, { entitlements: [] }) });
    await go(page);
    await expect(page.getByRole('listitem')).toContainText(['Lantern Notes']);
  });
});

test('works below the mount prefix', async ({ page }) => {
  await serve(page, { checkout: completed() });
  await page.goto('/payment/checkout/pay/cs_1');
  await expect(page.getByRole('link', { name: 'View invoice' })).toHaveAttribute(
    'href',
    '/payment/customer/invoice/in_1',
  );
});
