import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { hold } from './fixtures/held';
import { wear } from './fixtures/look';
import { serve } from './fixtures/server';

test('the language is changed at once, kept in its cookie and set on the document', async ({ page }) => {
  await wear(page);
  await serve(page);
  await page.goto('/');
  await page.getByRole('button', { name: 'Language: English' }).click();
  await page.getByRole('menuitem', { name: '中文' }).click();
  await expect(page.getByRole('heading', { level: 1, name: '一次购买，下载即用，永久拥有。' })).toBeVisible();
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh');
  const cookie = (await page.context().cookies()).find(({ name }) => name === 'nf_lang');
  expect(cookie?.value).toBe('zh');
  expect((cookie?.expires ?? 0) * 1000 - Date.now()).toBeGreaterThan(360 * 24 * 3600_000);
  await page.reload();
  await expect(page.getByRole('heading', { level: 2, name: '热门' })).toBeVisible();
});

test('the theme is changed, kept, and follows the system until then', async ({ page }) => {
  await wear(page, { scheme: 'dark' });
  await serve(page);
  await page.goto('/');
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.getByRole('button', { name: 'Theme: System' }).click();
  await page.getByRole('menuitem', { name: 'Light' }).click();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'light');
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'light');
  await expect(page.locator('body')).toHaveCSS('background-color', 'rgb(250, 249, 247)');
});

test('a fresh browser begins in test mode in a demo store, and changing the mode asks everything again', async ({
  page,
}) => {
  await wear(page);
  const seen = await serve(page);
  await page.goto('/');
  await expect(page.getByRole('region', { name: 'Test mode' })).toBeVisible();
  expect(seen.calls.find(({ path }) => path === '/apps/shelves')?.query.get('livemode')).toBe('false');
  await page.getByRole('button', { name: 'Mode: Test mode' }).click();
  await page.getByRole('menuitem', { name: 'Live mode' }).click();
  await expect(page.getByRole('region', { name: 'Test mode' })).toHaveCount(0);
  await expect
    .poll(() =>
      seen.calls
        .filter(({ path }) => path === '/apps/shelves')
        .at(-1)
        ?.query.get('livemode'),
    )
    .toBe('true');
  expect(await page.evaluate(() => localStorage.getItem('livemode'))).toBe('true');
});

test('each route change is one page view', async ({ page }) => {
  await wear(page);
  const seen = await serve(page);
  await page.goto('/');
  await page.getByRole('link', { name: 'Media' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Media' })).toBeVisible();
  await expect.poll(() => seen.pageViews).toEqual(['/', '/category/media']);
});

test('the cookie banner is shown once, and its answer is kept for a year', async ({ page }) => {
  await wear(page, {}, true);
  await serve(page);
  await page.goto('/');
  const banner = page.getByRole('region', { name: 'Cookies' });
  await expect(banner).toBeVisible();
  await expectAccessible(page);
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  const footer = await page.getByRole('contentinfo').boundingBox();
  const edge = (await banner.boundingBox())?.y ?? 0;
  expect((footer?.y ?? edge) + (footer?.height ?? 1), 'it hides nothing for good').toBeLessThanOrEqual(edge);
  await banner.getByRole('button', { name: 'Got it' }).click();
  await expect(banner).toHaveCount(0);
  const cookie = (await page.context().cookies()).find(({ name }) => name === 'CookieConsent');
  const days = ((cookie?.expires ?? 0) * 1000 - Date.now()) / (24 * 3600_000);
  expect(Math.round(days)).toBe(365);
  await page.reload();
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(banner).toHaveCount(0);
});

test('inside a frame there is no cookie banner', async ({ page, baseURL }) => {
  await wear(page, {}, true);
  await serve(page);
  await page.route('**/host.html', (route) =>
    route.fulfill({ contentType: 'text/html', body: `<iframe src="${baseURL}/" width="800" height="600"></iframe>` }),
  );
  await page.goto('/host.html');
  const frame = page.frameLocator('iframe');
  await expect(frame.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(frame.getByRole('region', { name: 'Cookies' })).toHaveCount(0);
});

test('each thing the front page needs is asked for once', async ({ page }) => {
  await wear(page);
  const seen = await serve(page);
  await page.goto('/');
  await expect(page.getByRole('region', { name: 'Trending' }).getByRole('article').first()).toBeVisible();
  const asked = seen.calls.map(({ path }) => path).sort();
  expect(asked).toEqual(['/apps/shelves', '/categories', '/session']);
});

test('the front page stands where its scripts will put it, before they are there', async ({ page }) => {
  test.skip(!process.env.SOUK_URL, 'the server writes it');
  await wear(page);
  await serve(page);
  const release = await hold(page, '**/assets/*.js');
  await page.goto('/', { waitUntil: 'commit' });
  const heading = page.locator('h1:visible');
  // The styles are not held back; before they are there, both languages are seen, and nothing stands where it will.
  await expect(heading).toHaveCount(1);
  await page.waitForFunction(() =>
    [...document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]')].every((it) => it.sheet !== null),
  );
  const said = await heading.textContent();
  const before = await heading.boundingBox();
  // The made-up store has another statement, of one line more or less: what counts is where it begins.
  expect(said).toContain('Apps from');
  release();
  await expect(page.getByRole('region', { name: 'Trending' })).toBeVisible();
  const after = await heading.boundingBox();
  expect([after?.x, after?.y]).toEqual([before?.x, before?.y]);
});

test('what the server wrote is painted before any script of the page is asked for', async ({ page }) => {
  test.skip(!process.env.SOUK_URL, 'the server writes it');
  await page.goto('/');
  await expect(page.getByRole('main').getByRole('article').first()).toBeVisible();
  const { painted, asked } = await page.evaluate(() => ({
    painted: performance.getEntriesByName('first-paint')[0]?.startTime ?? Number.POSITIVE_INFINITY,
    asked: performance.getEntriesByType('resource').filter((it) => /\/assets\/.*\.js$/.test(it.name)),
  }));
  expect(asked.length).toBeGreaterThan(2);
  for (const script of asked) expect(script.startTime, script.name).toBeGreaterThanOrEqual(painted);
});

test('a page whose paint nobody tells of is opened all the same', async ({ page }) => {
  test.skip(!process.env.SOUK_URL, 'the server writes it');
  await page.addInitScript(() => {
    PerformanceObserver.prototype.observe = () => {};
  });
  await page.goto('/');
  await expect(page.getByRole('main').getByRole('article').first()).toBeVisible();
});

test('the first tab stop leads past the header', async ({ page }, info) => {
  test.skip(info.project.name === 'phone', 'a keyboard matter');
  await wear(page);
  await serve(page);
  await page.goto('/');
  // The statement stands there before the page can be used.
  const skip = page.getByRole('link', { name: 'Skip to content' });
  await expect(skip).toBeAttached();
  await page.keyboard.press('Tab');
  await expect(skip).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.locator('#content')).toBeFocused();
});

test('whoever logs out is a visitor on the store front', async ({ page }) => {
  await wear(page);
  const options = { signedIn: true };
  const seen = await serve(page, options);
  await page.goto('/profile');
  await page.getByRole('button', { name: 'Account of Mei Lin' }).click();
  options.signedIn = false;
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await expect(page).toHaveURL('/');
  await expect(page.getByRole('button', { name: 'Sign in' })).toBeVisible();
  expect(seen.calls.some(({ method, path }) => method === 'POST' && path === '/session/logout')).toBe(true);
});
