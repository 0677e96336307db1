import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { paidApp } from './fixtures/data';
import { applyDisplaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => applyDisplaySettings(page));

test('the home page shows the store’s description, categories and three shelves', async ({ page }) => {
  await serve(page);
  await page.goto('/');
  await expect(
    page.getByRole('heading', { level: 1, name: 'Apps you pay for once, download and keep.' }),
  ).toBeVisible();
  await expect(page.getByRole('navigation', { name: 'Categories' }).getByRole('link')).toHaveCount(6);
  for (const shelf of ['New', 'Recently updated', 'Trending'])
    await expect(page.getByRole('region', { name: shelf })).toBeVisible();
  await expect(page).toHaveTitle('Souk');
});

test('"/" focuses the search, which is debounced by 300 ms', async ({ page }) => {
  const recorded = await serve(page);
  await page.clock.install();
  await page.goto('/search');
  await expect(page.getByText('8 apps')).toBeVisible();
  recorded.calls.length = 0;
  await page.keyboard.press('/');
  const search = page.getByRole('textbox', { name: 'Search apps' });
  await expect(search).toBeFocused();
  // The clock is paused, so that the typing speed does not matter.
  await page.clock.pauseAt(Date.now() + 60_000);
  await search.pressSequentially('quill');
  await page.clock.runFor(290);
  await expect(page).toHaveURL('/search');
  await page.clock.runFor(10);
  await page.clock.resume();
  await expect(page).toHaveURL('/search?keyword=quill');
  await expect(page.getByText('1 app', { exact: true })).toBeVisible();
  await expect(page.getByRole('heading', { level: 1, name: 'Results for “quill”' })).toBeVisible();
  expect(recorded.calls.filter(({ path }) => path === '/apps').map(({ query }) => query.get('keyword'))).toEqual([
    'quill',
  ]);
  await expect(search).toBeFocused();
});

test('a number can be searched for and stays unquoted in the URL', async ({ page }) => {
  const recorded = await serve(page);
  await page.goto('/search?keyword=2048&page=x&sort=nonsense');
  await expect(page.getByRole('heading', { level: 1, name: 'Results for “2048”' })).toBeVisible();
  const query = recorded.calls.find(({ path }) => path === '/apps')?.query;
  expect([query?.get('keyword'), query?.get('page'), query?.get('sort')]).toEqual(['2048', '1', 'downloads']);
});

test('a category keeps the search, and the URL has the filters', async ({ page }) => {
  const recorded = await serve(page);
  await page.goto('/search?keyword=a');
  await page.getByRole('link', { name: 'Productivity' }).click();
  await expect(page).toHaveURL('/category/productivity?keyword=a');
  await expect(page.getByRole('heading', { level: 1, name: 'Results for “a” in Productivity' })).toBeVisible();
  await page.getByText('Free', { exact: true }).first().click();
  await expect(page).toHaveURL('/category/productivity?keyword=a&price=free');
  await page.getByRole('combobox', { name: 'Sort by' }).selectOption('Name');
  await expect(page).toHaveURL('/category/productivity?keyword=a&price=free&sort=name');
  const last = recorded.calls.filter(({ path }) => path === '/apps').at(-1)?.query;
  expect(Object.fromEntries(last ?? [])).toMatchObject({
    category: 'productivity',
    keyword: 'a',
    price: 'free',
    sort: 'name',
    locale: 'en',
    livemode: 'false',
  });
});

test('an empty result shows a message and a reset button', async ({ page }) => {
  await serve(page);
  await page.goto('/search?keyword=zzzz');
  await expect(page.getByText('No apps found')).toBeVisible();
  await page.getByRole('button', { name: 'Show all apps' }).click();
  await expect(page.getByText('8 apps')).toBeVisible();
});

test('a failed list shows an error and can be retried', async ({ page }) => {
  const failing: Record<string, number> = { '/apps': 400 };
  await serve(page, { failing });
  await page.goto('/search');
  await expect(page.getByRole('alert')).toContainText("We couldn't load the apps. Please try again later.");
  await expectAccessible(page);
  delete failing['/apps'];
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByText('8 apps')).toBeVisible();
});

test('loading apps have placeholders of the same size', async ({ page }) => {
  await serve(page, { silent: ['/apps'] });
  await page.goto('/search');
  const grid = page.locator('[aria-busy="true"]');
  await expect(grid).toBeVisible();
  const placeholder = await grid.locator('> div > div').first().boundingBox();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await serve(page);
  await page.goto('/search?sort=name');
  const card = await page.getByRole('article').first().boundingBox();
  expect(Math.abs((card?.height ?? 0) - (placeholder?.height ?? 0))).toBeLessThanOrEqual(24);
  expect(card?.width).toBe(placeholder?.width);
});

test('an unknown URL redirects to the home page', async ({ page }) => {
  await serve(page);
  await page.goto('/no/such/page');
  await expect(page).toHaveURL('/');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
});

test('a card opens its app, by mouse and by keyboard', async ({ page }) => {
  await serve(page);
  await page.goto('/search');
  await page
    .getByRole('article')
    .first()
    .click({ position: { x: 20, y: 160 } });
  await expect(page).toHaveURL(`/apps/${paidApp.did}`);
  await page.goBack();
  await page.getByRole('link', { name: 'Quill' }).focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Quill' })).toBeVisible();
});
