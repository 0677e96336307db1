import { expect, type Page, test } from '@playwright/test';
import { checkout, completed, customItem, fastSubmit, serve, user } from './fixtures/checkout';
import { accessible, serveConnect } from './fixtures/checkout-page';

/** The checkout embedded in another page. */

interface HostMessage {
  source: string;
  type: string;
  height?: number;
}

const port = () => new URL(test.info().project.use.baseURL ?? 'http://127.0.0.1').port;
/** Another site, another origin of the same site, and the store's own origin. */
const FOREIGN = () => `http://localhost:${port()}`;
const SIBLING = () => 'http://127.0.0.1:9';
const OWN = () => `http://127.0.0.1:${port()}`;

/** Embeds the checkout in a page of `host` that records its messages. */
async function embed(page: Page, host: string, query = '?mode=inline') {
  await page.route(`${host}/host.html`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<!doctype html><html lang="en"><title>A shop</title>
        <script>window.receivedMessages=[];addEventListener('message',(e)=>receivedMessages.push(e.data))</script>
        <section aria-label="A shop"><h1>A shop</h1><iframe title="Checkout" src="${OWN()}/checkout/pay/cs_1${query}" width="800" height="300"></iframe></section>`,
    }),
  );
  await page.goto(`${host}/host.html`);
  return page.frameLocator('iframe');
}
const receivedMessages = (page: Page) =>
  page.evaluate(() => (window as unknown as { receivedMessages: HostMessage[] }).receivedMessages);
/** Types of the checkout's messages. The accessibility check of an iframe posts messages too. */
const types = async (page: Page) =>
  (await receivedMessages(page))
    .filter((each) => each.source === 'souk-checkout' && each.type !== 'height')
    .map((each) => each.type);
const height = async (page: Page) =>
  (await receivedMessages(page)).findLast((each) => each.type === 'height')?.height ?? 0;
const pay = '.checkout-pay button';

for (const [name, host] of [
  ['another site', FOREIGN],
  ['another origin', SIBLING],
  ['the store', OWN],
] as const) {
  test(`posts errors and its height to a page of ${name}`, async ({ page }) => {
    const { backend } = await serve(page, {
      submit: { status: 400, body: { error: 'Out of tea', code: 'OUT_OF_TEA' } },
    });
    const frame = await embed(page, host());
    const signedIn = host() !== FOREIGN();
    await (signedIn ? frame.locator(pay) : frame.getByTestId('total')).waitFor();
    await expect.poll(() => height(page)).toBeGreaterThan(300);
    const content = await frame.locator('.checkout-form-inner').evaluate((each) => each.getBoundingClientRect().bottom);
    expect(await height(page)).toBeGreaterThanOrEqual(Math.floor(content));
    expect((await receivedMessages(page)).every((each) => each.source === 'souk-checkout')).toBe(true);
    await frame.locator(pay).click();
    await expect.poll(() => types(page)).toEqual(['error.OUT_OF_TEA']);
    expect(backend.submit.status).toBe(400);
  });
}

test('posts nothing to a page with another origin', async ({ page }) => {
  await serve(page, { submit: { status: 400, body: { error: 'Out of tea', code: 'OUT_OF_TEA' } } });
  const frame = await embed(page, FOREIGN(), '?mode=inline&origin=https://shop.example');
  await frame.locator(pay).click();
  await expect(frame.getByRole('alert')).toContainText('Out of tea');
  expect(await receivedMessages(page)).toEqual([]);
});

test('posts its height when it grows or shrinks', async ({ page }) => {
  await serve(page, { checkout: checkout({}, { line_items: [customItem()] }), submit: fastSubmit });
  const frame = await embed(page, SIBLING());
  await expect.poll(() => height(page)).toBeGreaterThan(300);
  const first = await height(page);
  // The host resizes the iframe, which must not grow further then.
  await page.locator('iframe').evaluate((each, to) => each.setAttribute('height', String(to)), first);
  const box = frame.getByRole('textbox', { name: /^Amount/ });
  await box.fill('500');
  await box.blur();
  await frame.getByLabel('Email').fill('x');
  await frame.getByLabel('Email').blur();
  await expect.poll(() => height(page)).toBeGreaterThan(first);
  await box.fill('5');
  await frame.getByLabel('Email').fill('mei@example.com');
  await expect.poll(() => height(page)).toBe(first);
});

test('posts the height of a dialog that is taller than the page', async ({ page }) => {
  await serve(page);
  await serveConnect(page);
  const frame = await embed(page, SIBLING(), '?mode=inline-minimal');
  await frame.locator(pay).click();
  const dialog = frame.getByRole('dialog');
  await expect(dialog.getByRole('img', { name: /QR code/ })).toBeVisible();
  const dialogHeight = await dialog.locator('.k-dialog-body').evaluate((each) => each.scrollHeight);
  await expect.poll(() => height(page)).toBeGreaterThanOrEqual(dialogHeight);
});

test.describe('without a session cookie', () => {
  const signedOut = () => ({ user: null, checkout: checkout({ customer: null }) });

  test('the order continues in a new tab, and the iframe follows it', async ({ page, context }) => {
    const { backend } = await serve(page, signedOut());
    const frame = await embed(page, FOREIGN());
    await expect(frame.locator(pay)).toHaveCount(0);
    await frame.getByText('Card, USD').click();
    const go = frame.getByRole('link', { name: 'Continue in a new tab' });
    await expect(go).toHaveAttribute('href', '/checkout/pay/cs_1?locale=en&currencyId=pc_usd');
    const [tab] = await Promise.all([context.waitForEvent('page'), go.click()]);
    expect(tab.url()).toContain('/checkout/pay/cs_1');
    expect(await tab.evaluate(() => window.opener)).toBeNull();
    await tab.close();
    await expect(frame.getByRole('status').filter({ hasText: 'Finish in the other tab.' })).toBeVisible();
    await accessible(page);
    backend.checkout = completed();
    await expect(frame.getByRole('heading', { name: 'Payment successful' })).toBeVisible({ timeout: 15_000 });
    await expect.poll(() => types(page)).toEqual(['completed']);
    await accessible(page);
  });

  test('a page of the same site opens the wallet dialog', async ({ page }) => {
    await serve(page, signedOut());
    await serveConnect(page);
    const frame = await embed(page, SIBLING());
    await frame.getByRole('button', { name: 'Sign in to pay' }).click();
    await expect(frame.getByRole('dialog', { name: 'Sign in to Souk Demo' })).toBeVisible();
  });
});

test('links open outside of the iframe', async ({ page, context }) => {
  await serve(page, { checkout: completed(), user });
  const frame = await embed(page, SIBLING());
  for (const name of ['View invoice', 'Back to store']) {
    const [tab] = await Promise.all([context.waitForEvent('page'), frame.getByRole('link', { name }).click()]);
    await tab.close();
  }
  await expect(frame.getByRole('heading', { name: 'Payment successful' })).toBeVisible();
});
