import { readFileSync } from 'node:fs';
import { expect, type Locator, type Page, test } from '@playwright/test';
import {
  cardSubmit,
  checkout,
  completed,
  fastSubmit,
  lineItem,
  overdue,
  planItem,
  serve,
  subscription,
  yearly,
} from './fixtures/checkout';
import { go, serveConnect, submit } from './fixtures/checkout-page';
import { hold } from './fixtures/held';

/** What good checkouts have in common, beyond what is shown in each state. */

const limited = { status: 403, body: { error: 'limited', code: 'CUSTOMER_LIMITED' } };
const pay = (page: Page) => submit(page).click();
const sidewaysIn = (page: Page) =>
  page.evaluate(() => {
    const wide = [document.documentElement, ...document.querySelectorAll('dialog[open], dialog[open] .k-dialog-body')];
    return Math.max(...wide.map((it) => it.scrollWidth - it.clientWidth));
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
  for (const [name, reach] of Object.entries(states)) {
    test(`${name} needs no sideways scroll`, async ({ page }) => {
      await page.setViewportSize({ width: 320, height: 640 });
      await expect(await reach(page)).toBeVisible();
      expect(await sidewaysIn(page)).toBeLessThanOrEqual(0);
    });
  }
});

test('the focus ring stands out from what is around it by 3 to 1, in both schemes', async ({ page }) => {
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
    const seen = new Set<string>();
    for (let i = 0; i < 30; i++) {
      const ring = await page.evaluate(() => {
        const it = document.activeElement as HTMLElement;
        if (it === document.body) return null;
        const isFramed = (it.closest('.k-card') as HTMLElement | null) ?? it;
        const { outlineColor, outlineStyle, outlineWidth } = getComputedStyle(isFramed);
        let around: HTMLElement | null = isFramed.parentElement;
        while (around && /, 0\)$|transparent/.test(getComputedStyle(around).backgroundColor))
          around = around.parentElement;
        const ground = getComputedStyle(around ?? document.documentElement).backgroundColor;
        const light = (color: string) => {
          const [r = 0, g = 0, b = 0] = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((it) => {
            const part = Number(it) / 255;
            return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const [high = 0, low = 0] = [light(outlineColor), light(ground)].sort((a, b) => b - a);
        return {
          name: it.getAttribute('name') ?? it.textContent ?? '',
          drawn: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2,
          contrast: (high + 0.05) / (low + 0.05),
        };
      });
      if (!ring) break;
      seen.add(ring.name);
      expect(ring.drawn, `${ring.name} in ${colorScheme}`).toBe(true);
      expect(ring.contrast, `${ring.name} in ${colorScheme}`).toBeGreaterThanOrEqual(3);
      await page.keyboard.press('Tab');
    }
    expect(seen.size).toBeGreaterThan(8);
  }
});

test.describe('Esc does not interrupt a payment', () => {
  test('that was permitted before', async ({ page }) => {
    await serve(page, { submit: fastSubmit });
    const answer = await hold(page, '**/fast-checkout-confirm?*', (route) =>
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
    answer();
    await expect(page.getByTestId('paying')).toBeVisible();
  });

  test('of what is past due: it closes the wallet above, and only then the debts', async ({ page }) => {
    await serve(page, { submit: limited, overdue: overdue() });
    await serveConnect(page);
    await go(page);
    await pay(page);
    const debts = page.getByRole('dialog', { name: 'You have unpaid invoices' });
    await debts.getByRole('button', { name: 'Pay 3.5 SKT' }).click();
    const wallet = page.getByRole('dialog', { name: 'Pay overdue invoices' });
    await expect(wallet).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(wallet).toBeHidden();
    await expect(debts).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(debts).toBeHidden();
    await expect(submit(page)).toBeFocused();
  });
});

test('waiting for a card is said to those who do not see it', async ({ page }) => {
  const stripeContext = { client_secret: 'x', intent_type: 'payment_intent', status: 'processing' };
  await serve(page, { submit: { status: 200, body: { stripeContext } } });
  await go(page, '?currencyId=pc_usd');
  await pay(page);
  await expect(page.getByTestId('paying')).toBeVisible();
  await expect(page.locator('#announcer')).toHaveText('Waiting for the card processor…');
});

test('nothing of the card form is loaded before a card is chosen', async ({ page }) => {
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

test('the bar that sticks stays above a telephone’s keyboard', async ({ page }) => {
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
  const foot = async () => {
    const bar = await page.locator('.checkout-pay').boundingBox();
    return Math.round((bar?.y ?? 0) + (bar?.height ?? 0));
  };
  await page.getByLabel('Full name').focus();
  await keyboard(320);
  await expect.poll(foot).toBeLessThanOrEqual(844 - 320);
  await page.getByLabel('City').focus();
  const field = await page.getByLabel('City').boundingBox();
  const bar = await page.locator('.checkout-pay').boundingBox();
  expect((field?.y ?? 0) + (field?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
  // A browser's own bar, and a page that was zoomed into, are no keyboard.
  await keyboard(60);
  await expect
    .poll(() => page.evaluate(() => document.documentElement.style.getPropertyValue('--keyboard')))
    .toBe('0px');
  await keyboard(400, 2);
  await expect
    .poll(() => page.evaluate(() => document.documentElement.style.getPropertyValue('--keyboard')))
    .toBe('0px');
});

test('whoever wants no motion sees the check at once, and reads the same', async ({ page }) => {
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

test('what is wrong is told by a sign and words, not by colour only', async ({ page }) => {
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

test('an order without items has a way on', async ({ page }) => {
  await serve(page, { checkout: checkout({}, { line_items: [] }) });
  await go(page);
  await expect(page.getByRole('link', { name: 'Start again' })).toHaveAttribute('href', /\/apps\/z8iZ1$/);
  await page.getByRole('link', { name: 'Go to the store' }).click();
  await expect(page).toHaveURL(/\/$/);
});

test('an order that cannot be had is asked for ever less often', async ({ page }) => {
  // It stands but for what is run below: a busy machine's own seconds would count else.
  await page.clock.install({ time: new Date('2026-05-01T12:00:00Z') });
  await page.clock.pauseAt(new Date('2026-05-01T12:00:01Z'));
  await serve(page);
  let asked = 0;
  await page.route('**/api/checkout-sessions/retrieve/**', (route) => {
    asked++;
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
    expect(asked).toBe(n + 1);
    await page.clock.runFor(200);
    await expect.poll(() => failed).toBe(n + 2);
    // What the page heard before it said so has been taken up: the next wait begins.
    await page.evaluate(() => undefined);
  }
});

test.describe('coming back', () => {
  const back = (status: string) =>
    `?payment_intent=pi_1&payment_intent_client_secret=pi_1_secret_x&redirect_status=${status}&currencyId=pc_usd`;

  test('from a bank with a payment waits for it, and keeps its secrets out of the address', async ({ page }) => {
    const { backend } = await serve(page);
    await go(page, back('succeeded'));
    await expect(page.getByTestId('paying')).toBeVisible();
    await expect(page).toHaveURL(/\/checkout\/pay\/cs_1\?currencyId=pc_usd$/);
    backend.checkout = completed();
    await expect(page.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
  });

  test('from a bank without one shows the order again', async ({ page }) => {
    await serve(page);
    await go(page, back('failed'));
    await expect(submit(page)).toBeEnabled();
    await expect(page).toHaveURL(/\/checkout\/pay\/cs_1\?currencyId=pc_usd$/);
  });

  test('from the wallet’s app looks at once what it has done', async ({ page }) => {
    await page.clock.install();
    const { backend } = await serve(page);
    const connect = await serveConnect(page);
    await go(page);
    await pay(page);
    await expect(page.getByRole('dialog', { name: 'Pay 5 SKT' })).toBeVisible();
    const look = (hidden: boolean) =>
      page.evaluate((to) => {
        Object.defineProperty(document, 'hidden', { value: to, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    await look(true);
    await page.clock.runFor(20_000);
    connect.status = 'succeed';
    backend.checkout = completed();
    await look(false);
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

test('the account that pays is written in groups that can be compared', async ({ page }) => {
  const payer = 'z1XbJTNHhZ9tF1cYGSmtvn8SHGHMYDtqr3d';
  const fastPayInfo = { ...fastSubmit.body.fastPayInfo, payer };
  await serve(page, { submit: { status: 200, body: { ...fastSubmit.body, fastPayInfo } } });
  await go(page);
  await pay(page);
  const written = page.getByRole('dialog').locator('.extras-address');
  await expect(written).toHaveText(payer);
  await expect(written.locator('span').first()).toHaveText('z1Xb');
  await expect(written.locator('span')).toHaveCount(Math.ceil(payer.length / 4));
});

test('nothing breaks the policy that the server sends with the page', async ({ page }) => {
  const source = readFileSync(new URL('../../crates/server/src/pages.rs', import.meta.url), 'utf8');
  const policy = /Self::Checkout => \{\s*"([^"]+)"/.exec(source)?.[1]?.replace(/\\\s+/g, '');
  expect(policy).toContain("script-src 'self' https://js.stripe.com");
  const broken: string[] = [];
  await page.exposeFunction('brokeThePolicy', (what: string) => broken.push(what));
  await page.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', (event) =>
      (window as unknown as { brokeThePolicy: (what: string) => void }).brokeThePolicy(
        `${event.violatedDirective} ${event.blockedURI}`,
      ),
    ),
  );
  const { backend } = await serve(page, { submit: cardSubmit, banner: true });
  await page.route('**/checkout/pay/*', async (route) => {
    const answer = await route.fetch();
    return route.fulfill({
      response: answer,
      headers: { ...answer.headers(), 'content-security-policy': policy ?? '' },
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
  expect(broken).toEqual([]);
});

test('nothing personal is written to the console or told to whoever counts visits', async ({ page }) => {
  const told: string[] = [];
  page.on('console', (message) => told.push(message.text()));
  const fields = { customer_email: 'This mailbox does not exist' };
  const { backend } = await serve(page, { submit: { status: 400, body: { error: 'no', code: 'VALIDATION', fields } } });
  page.on('request', (request) => {
    if (!request.url().includes('/api/checkout-sessions/')) told.push(request.url(), request.postData() ?? '');
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
  const written = told.join('\n');
  for (const personal of ['Ximena', 'Quispe', 'quispe.example', 'mei@example.com', 'Mei Lin'])
    expect(written).not.toContain(personal);
});
