import { readFileSync } from 'node:fs';
import { expect, type Locator, type Page, test } from '@playwright/test';
import {
  cardSubmit,
  checkout,
  completed,
  fastSubmit,
  fieldProblem,
  lineItem,
  overdue,
  planItem,
  serve,
  subscription,
  yearly,
} from './fixtures/checkout';
import { go, serveConnect, submit } from './fixtures/checkout-page';
import { delayResponse } from './fixtures/delay-response';

/** Common requirements of a good checkout, beyond the individual states. */

const limited = { status: 403, body: { error: 'limited', code: 'CUSTOMER_LIMITED' } };
const pay = (page: Page) => submit(page).click();
const overflowOf = (page: Page) =>
  page.evaluate(() => {
    const wide = [document.documentElement, ...document.querySelectorAll('dialog[open], dialog[open] .k-dialog-body')];
    return Math.max(...wide.map((element) => element.scrollWidth - element.clientWidth));
  });

test.describe('on the narrowest screen, and at 400 % zoom', () => {
  const states: Record<string, (page: Page) => Promise<Locator>> = {
    'the wallet dialog': async (page) => {
      await serve(page);
      await serveConnect(page);
      await go(page);
      await pay(page);
      return page.getByRole('img', { name: /QR code/ });
    },
    'the card dialog': async (page) => {
      await serve(page, { submit: cardSubmit });
      await go(page, '?currencyId=pc_usd');
      await pay(page);
      return page.locator('#card_number');
    },
    'fast pay': async (page) => {
      await serve(page, { submit: fastSubmit });
      await go(page);
      await pay(page);
      return page.getByRole('dialog', { name: 'Confirm your payment' });
    },
    'the past-due dialog': async (page) => {
      await serve(page, { submit: limited, overdue: overdue(true) });
      await go(page);
      await pay(page);
      return page.getByRole('button', { name: 'Pay 3.5 SKT' });
    },
    paying: async (page) => {
      await serve(page, { checkout: checkout({ paymentIntent: { id: 'pi_1', status: 'processing' } }) });
      await go(page);
      return page.getByTestId('paying');
    },
    completed: async (page) => {
      await serve(page, { checkout: completed() });
      await go(page);
      return page.getByRole('heading', { name: 'Payment successful' });
    },
  };
  for (const [name, openState] of Object.entries(states)) {
    test(`${name} needs no horizontal scrolling`, async ({ page }) => {
      await page.setViewportSize({ width: 320, height: 640 });
      await expect(await openState(page)).toBeVisible();
      expect(await overflowOf(page)).toBeLessThanOrEqual(0);
    });
  }
});

test('the focus ring has a contrast of at least 3:1 in both schemes', async ({ page }) => {
  const item = planItem(
    { adjustable_quantity: { enabled: true } },
    { upsell: { upsells_to_id: yearly.id, upsells_to: yearly } },
  );
  await serve(page, { checkout: subscription({ line_items: [item] }) });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await go(page);
    await submit(page).waitFor();
    await page.locator('body').press('Tab');
    const recorded = new Set<string>();
    for (let i = 0; i < 30; i++) {
      const ring = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        if (element === document.body) return null;
        const focusTarget = (element.closest('.k-card') as HTMLElement | null) ?? element;
        const { outlineColor, outlineStyle, outlineWidth } = getComputedStyle(focusTarget);
        let background: HTMLElement | null = focusTarget.parentElement;
        while (background && /, 0\)$|transparent/.test(getComputedStyle(background).backgroundColor))
          background = background.parentElement;
        const backgroundColor = getComputedStyle(background ?? document.documentElement).backgroundColor;
        const luminance = (color: string) => {
          const [r = 0, g = 0, b = 0] = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((element) => {
            const part = Number(element) / 255;
            return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const [high = 0, low = 0] = [luminance(outlineColor), luminance(backgroundColor)].sort((a, b) => b - a);
        return {
          name: element.getAttribute('name') ?? element.textContent ?? '',
          drawn: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2,
          contrast: (high + 0.05) / (low + 0.05),
        };
      });
      if (!ring) break;
      recorded.add(ring.name);
      expect(ring.drawn, `${ring.name} in ${colorScheme}`).toBe(true);
      expect(ring.contrast, `${ring.name} in ${colorScheme}`).toBeGreaterThanOrEqual(3);
      await page.keyboard.press('Tab');
    }
    expect(recorded.size).toBeGreaterThan(8);
  }
});

test.describe('Esc does not interrupt a payment', () => {
  test('with an existing mandate', async ({ page }) => {
    await serve(page, { submit: fastSubmit });
    const release = await delayResponse(page, '**/fast-checkout-confirm?*', (route) =>
      route.fulfill({ json: { fastPaid: true } }),
    );
    await go(page);
    await pay(page);
    const dialog = page.getByRole('dialog', { name: 'Confirm your payment' });
    await dialog.getByRole('button', { name: 'Pay 5 SKT' }).click();
    await expect(dialog.getByRole('button', { name: 'Paying…' })).toHaveAttribute('aria-busy', 'true');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await expect(dialog).toBeVisible();
    await expect(dialog.getByRole('button', { name: 'Close' })).toBeDisabled();
    release();
    await expect(page.getByTestId('paying')).toBeVisible();
  });

  test('of past-due invoices: it closes the wallet dialog first, then the invoice dialog', async ({ page }) => {
    await serve(page, { submit: limited, overdue: overdue() });
    await serveConnect(page);
    await go(page);
    await pay(page);
    const invoiceDialog = page.getByRole('dialog', { name: 'You have unpaid invoices' });
    await invoiceDialog.getByRole('button', { name: 'Pay 3.5 SKT' }).click();
    const wallet = page.getByRole('dialog', { name: 'Pay overdue invoices' });
    await expect(wallet).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(wallet).toBeHidden();
    await expect(invoiceDialog).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(invoiceDialog).toBeHidden();
    await expect(submit(page)).toBeFocused();
  });
});

test('waiting for a card is announced to screen readers', async ({ page }) => {
  const stripeContext = { client_secret: 'x', intent_type: 'payment_intent', status: 'processing' };
  await serve(page, { submit: { status: 200, body: { stripeContext } } });
  await go(page, '?currencyId=pc_usd');
  await pay(page);
  await expect(page.getByTestId('paying')).toBeVisible();
  await expect(page.locator('#announcer')).toHaveText('Waiting for the card processor…');
});

test('the card form is not loaded before a card is chosen', async ({ page }) => {
  const forms: string[] = [];
  page.on('response', async (response) => {
    if (!/\.js$/.test(new URL(response.url()).pathname)) return;
    if (/card_number/.test(await response.text().catch(() => ''))) forms.push(response.url());
  });
  await serve(page, { submit: cardSubmit });
  await go(page);
  await submit(page).waitFor();
  await page.waitForLoadState('networkidle');
  expect(forms).toEqual([]);
  await page.getByText('Card, USD').click();
  await expect.poll(() => forms.length).toBe(1);
});

test('the sticky bar stays above the on-screen keyboard', async ({ page }) => {
  await page.addInitScript(() => {
    const view = Object.assign(new EventTarget(), { height: window.innerHeight, offsetTop: 0, scale: 1 });
    Object.defineProperty(window, 'visualViewport', { value: view });
  });
  await page.setViewportSize({ width: 390, height: 844 });
  await serve(page, { checkout: checkout({}, { billing_address_collection: 'required' }) });
  await go(page);
  await submit(page).waitFor();
  const keyboard = (height: number, scale = 1) =>
    page.evaluate(
      ([covered, zoom]) => {
        const view = window.visualViewport as VisualViewport;
        Object.assign(view, { height: document.documentElement.clientHeight - (covered ?? 0), scale: zoom });
        view.dispatchEvent(new Event('resize'));
      },
      [height, scale],
    );
  const bottom = async () => {
    const bar = await page.locator('.checkout-pay').boundingBox();
    return Math.round((bar?.y ?? 0) + (bar?.height ?? 0));
  };
  await page.getByLabel('Full name').focus();
  await keyboard(320);
  await expect.poll(bottom).toBeLessThanOrEqual(844 - 320);
  await page.getByLabel('City').focus();
  const field = await page.getByLabel('City').boundingBox();
  const bar = await page.locator('.checkout-pay').boundingBox();
  expect((field?.y ?? 0) + (field?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
  // A browser toolbar or a zoomed page is not taken for a keyboard.
  await keyboard(60);
  await expect
    .poll(() => page.evaluate(() => document.documentElement.style.getPropertyValue('--keyboard')))
    .toBe('0px');
  await keyboard(400, 2);
  await expect
    .poll(() => page.evaluate(() => document.documentElement.style.getPropertyValue('--keyboard')))
    .toBe('0px');
});

test('with reduced motion the check mark appears at once', async ({ page }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  const { backend } = await serve(page, {
    checkout: checkout({ paymentIntent: { id: 'pi_1', status: 'processing' } }),
  });
  await go(page);
  await expect(page.getByTestId('paying')).toBeVisible();
  backend.checkout = completed();
  await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeFocused();
  await expect(page.locator('.checkout-check[data-fresh] path')).toHaveCSS('animation-duration', '0.001s');
});

test('errors have an icon and a text, not only a color', async ({ page }) => {
  await serve(page, {
    submit: { status: 400, body: { error: 'Out of tea', code: 'OUT_OF_TEA' } },
    checkout: checkout({ customer: null }, { billing_address_collection: 'required' }),
  });
  await go(page);
  await pay(page);
  const errors = page.locator('.k-field .k-error');
  await expect(errors.first()).toBeVisible();
  for (const error of await errors.all()) {
    await expect(error.locator('svg')).toBeVisible();
    await expect(error).toHaveText(/\w/);
  }
  for (const alert of await page.locator('.k-alert').all()) await expect(alert.locator('svg').first()).toBeVisible();
});

test('an order without items links to the store and to a restart', async ({ page }) => {
  await serve(page, { checkout: checkout({}, { line_items: [] }) });
  await go(page);
  await expect(page.getByRole('link', { name: 'Start again' })).toHaveAttribute('href', /\/apps\/z8iZ1$/);
  await page.getByRole('link', { name: 'Back to store' }).click();
  await expect(page).toHaveURL(/\/$/);
});

test('loading a failing order backs off', async ({ page }) => {
  // The clock stands still except for `runFor`, so that the machine's speed does not matter.
  await page.clock.install({ time: new Date('2026-05-01T12:00:00Z') });
  await page.clock.pauseAt(new Date('2026-05-01T12:00:01Z'));
  await serve(page);
  let requests = 0;
  await page.route('**/api/checkout-sessions/retrieve/**', (route) => {
    requests++;
    return route.abort();
  });
  let failed = 0;
  page.on('requestfailed', (request) => {
    if (request.url().includes('/retrieve/')) failed++;
  });
  await go(page);
  await expect.poll(() => failed).toBe(1);
  await expect(page.getByText(/You're offline/)).toBeVisible();
  for (const [n, seconds] of [1, 2, 4, 8, 15, 15].entries()) {
    await page.clock.runFor(seconds * 1000 - 200);
    expect(requests).toBe(n + 1);
    await page.clock.runFor(200);
    await expect.poll(() => failed).toBe(n + 2);
    // The page has processed the failure, so the next wait begins.
    await page.evaluate(() => undefined);
  }
});

test.describe('returning', () => {
  const back = (status: string) =>
    `?payment_intent=pi_1&payment_intent_client_secret=pi_1_secret_x&redirect_status=${status}&currencyId=pc_usd`;

  test('from a bank after a payment polls for it, and removes the secrets from the URL', async ({ page }) => {
    const { backend } = await serve(page);
    await go(page, back('succeeded'));
    await expect(page.getByTestId('paying')).toBeVisible();
    await expect(page).toHaveURL(/\/checkout\/pay\/cs_1\?currencyId=pc_usd$/);
    backend.checkout = completed();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
  });

  test('from a bank without a payment shows the order again', async ({ page }) => {
    await serve(page);
    await go(page, back('failed'));
    await expect(submit(page)).toBeEnabled();
    await expect(page).toHaveURL(/\/checkout\/pay\/cs_1\?currencyId=pc_usd$/);
  });

  test('from the wallet app checks the result at once', async ({ page }) => {
    await page.clock.install();
    const { backend } = await serve(page);
    const connect = await serveConnect(page);
    await go(page);
    await pay(page);
    await expect(page.getByRole('dialog', { name: 'Pay 5 SKT' })).toBeVisible();
    const setHidden = (hidden: boolean) =>
      page.evaluate((to) => {
        Object.defineProperty(document, 'hidden', { value: to, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    await setHidden(true);
    await page.clock.runFor(20_000);
    connect.status = 'succeed';
    backend.checkout = completed();
    await setHidden(false);
    await page.clock.runFor(100);
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
  });
});

test('the wallet’s link can be copied', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await serve(page);
  await serveConnect(page);
  await go(page);
  await pay(page);
  const dialog = page.getByRole('dialog', { name: 'Pay 5 SKT' });
  const link = await dialog.getByRole('link', { name: /Open in wallet/ }).getAttribute('href');
  await dialog.getByRole('button', { name: 'Copy link' }).click();
  await expect(dialog.getByRole('button', { name: 'Copied' })).toBeVisible();
  await expect(dialog.locator('[data-announcer]')).toHaveText(/opied/);
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(link);
});

test('the paying account is shown in groups for comparison', async ({ page }) => {
  const payer = 'z1XbJTNHhZ9tF1cYGSmtvn8SHGHMYDtqr3d';
  const fastPayInfo = { ...fastSubmit.body.fastPayInfo, payer };
  await serve(page, { submit: { status: 200, body: { ...fastSubmit.body, fastPayInfo } } });
  await go(page);
  await pay(page);
  const address = page.getByRole('dialog').locator('.extras-address');
  await expect(address).toHaveText(payer);
  await expect(address.locator('span').first()).toHaveText('z1Xb');
  await expect(address.locator('span')).toHaveCount(Math.ceil(payer.length / 4));
});

test('the page respects the server’s content security policy', async ({ page }) => {
  const source = readFileSync(new URL('../../crates/server/src/pages.rs', import.meta.url), 'utf8');
  const policy = /Self::Checkout => \{\s*"([^"]+)"/.exec(source)?.[1]?.replace(/\\\s+/g, '');
  expect(policy).toContain("script-src 'self' https://js.stripe.com");
  const violations: string[] = [];
  await page.exposeFunction('reportViolation', (what: string) => violations.push(what));
  await page.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', (event) =>
      (window as unknown as { reportViolation: (what: string) => void }).reportViolation(
        `${event.violatedDirective} ${event.blockedURI}`,
      ),
    ),
  );
  const { backend } = await serve(page, { submit: cardSubmit, banner: true });
  await page.route('**/checkout/pay/*', async (route) => {
    const release = await route.fetch();
    return route.fulfill({
      response: release,
      headers: { ...release.headers(), 'content-security-policy': policy ?? '' },
    });
  });
  await go(page, '?currencyId=pc_usd');
  await pay(page);
  await page.locator('#card_number').fill('4242 4242 4242 4242');
  await page.keyboard.press('Escape');
  await page.getByText('SKT from your wallet').click();
  backend.submit = { status: 200, body: { paymentIntent: { id: 'pi_1', status: 'requires_action' } } };
  const connect = await serveConnect(page);
  await pay(page);
  await expect(page.getByRole('img', { name: /QR code/ })).toBeVisible();
  backend.checkout = completed();
  connect.status = 'succeed';
  await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
  expect(violations).toEqual([]);
});

test('no personal data reaches the console or the analytics', async ({ page }) => {
  const output: string[] = [];
  page.on('console', (message) => output.push(message.text()));
  const fields = { customer_email: fieldProblem('This mailbox does not exist') };
  const { backend } = await serve(page, { submit: { status: 400, body: { error: 'no', code: 'VALIDATION', fields } } });
  page.on('request', (request) => {
    if (!request.url().includes('/api/checkout-sessions/')) output.push(request.url(), request.postData() ?? '');
  });
  await go(page);
  await page.getByLabel('Full name').fill('Ximena Quispe');
  await page.getByLabel('Email').fill('ximena@quispe.example');
  await pay(page);
  await expect(page.getByText('This mailbox does not exist').first()).toBeVisible();
  backend.submit = { status: 500, body: { error: 'Sorry, something went wrong.' } };
  await pay(page);
  await expect(page.getByRole('alert')).toContainText('Sorry, something went wrong.');
  backend.checkout = checkout({}, { line_items: [lineItem(1, {}, { product: null })] });
  await page.reload();
  await expect(page.locator('h1')).toBeVisible();
  const written = output.join('\n');
  for (const personal of ['Ximena', 'Quispe', 'quispe.example', 'mei@example.com', 'Mei Lin'])
    expect(written).not.toContain(personal);
});
