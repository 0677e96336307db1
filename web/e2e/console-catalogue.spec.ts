import { expect, type Page, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { user } from './fixtures/data';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { managedApp } from './fixtures/managed-apps';
import { APP, NOW } from './fixtures/reviews';
import { type ServerOptions, serve } from './fixtures/server';

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW));

/** Opens a page as an administrator, with the API mocked, in English. */
async function open(page: Page, path: string, options: ServerOptions = {}) {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, role: 'admin', ...options });
  await page.goto(path);
  return recorded;
}

const writesOf = ({ calls }: Awaited<ReturnType<typeof serve>>) =>
  calls.filter(({ method }) => method !== 'GET').map(({ method, path, body }) => ({ method, path, body }));

for (const display of displaySettings) {
  test(`an administrator sees all apps, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'admin' });
    await page.goto('/console/apps');
    await expect(page.getByText(/Atlas Notes|图册笔记/).first()).toBeVisible();
    await expect(page.getByText(/It sends pictures to strangers/)).toBeVisible();
    await expect(page.getByText(/^Application$|^应用程序$/).first()).toBeVisible();
    await expect(page.getByText(/^Private$|^不公开$/)).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /^Edit Atlas Notes$|^编辑图册笔记$/ }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await page.getByRole('button', { name: /^Block Atlas Notes$|^屏蔽图册笔记$/ }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page);
  });

  test(`an administrator sees the categories, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'admin' });
    await page.goto('/console/categories');
    await expect(page.getByText('工具')).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /^Edit Tools$|^编辑工具$/ }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await page.getByRole('button', { name: /^Delete Games$|^删除游戏$/ }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await expectAccessible(page);
  });
}

test('apps are searched and filtered, and the filters are in the address', async ({ page }) => {
  await open(page, '/console/apps');
  const table = page.getByRole('table', { name: 'Apps' });
  await expect(table.getByText('orbit')).toBeVisible();
  await page.getByRole('textbox', { name: 'Name, developer or DID' }).fill('spy');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await expect(page).toHaveURL('/console/apps?keyword=spy');
  await expect(table.getByText('orbit')).toHaveCount(0);
  await expect(table.getByText('Spy Cam')).toBeVisible();
  await page.getByRole('combobox', { name: 'In the store' }).click();
  await page.getByTitle('Not published').click();
  await expect(page.getByText('No app matches these filters.')).toBeVisible();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await expect(page).toHaveURL('/console/apps');
  await expect(table.getByText('orbit')).toBeVisible();
});

test('an app is blocked with a reason and unblocked', async ({ page }) => {
  const recorded = await open(page, '/console/apps', { catalogue: { apps: [managedApp()] } });
  await page.getByRole('button', { name: 'Block Atlas Notes' }).click();
  const dialog = page.getByRole('dialog', { name: 'Atlas Notes' });
  await dialog.getByRole('button', { name: 'Block app' }).click();
  await expect(dialog.getByText('Write a comment.')).toBeVisible();
  await dialog.getByLabel('Reason').fill('x'.repeat(256));
  await dialog.getByRole('button', { name: 'Block app' }).click();
  await expect(dialog.getByText('Write at most 255 characters.')).toBeVisible();
  await dialog.getByLabel('Reason').fill('It sends pictures to strangers');
  await dialog.getByRole('button', { name: 'Block app' }).click();
  await expect(page.getByText('Reason: It sends pictures to strangers')).toBeVisible();
  await page.getByRole('button', { name: 'Unblock Atlas Notes' }).click();
  await dialog.getByRole('button', { name: 'Unblock app' }).click();
  await expect(page.getByRole('button', { name: 'Block Atlas Notes' })).toBeVisible();
  const path = `/apps/${APP}/versions/1.3.0/review`;
  expect(writesOf(recorded)).toEqual([
    { method: 'PUT', path, body: { step: 'block', comment: 'It sends pictures to strangers' } },
    { method: 'PUT', path, body: { step: 'unblock' } },
  ]);
});

test('an app gets another category and review type', async ({ page }) => {
  const recorded = await open(page, '/console/apps', { catalogue: { apps: [managedApp()] } });
  await page.getByRole('button', { name: 'Edit Atlas Notes' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Category' }).click();
  await page.getByTitle('Finance').click();
  await dialog.getByRole('radio', { name: /^First version only/ }).check();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole('table', { name: 'Apps' })).toContainText('Finance');
  const [app] = recorded.catalogue.apps;
  expect(app).toMatchObject({ review_type: 'FIRST' });
  expect(writesOf(recorded)).toEqual([
    {
      method: 'PUT',
      path: `/console/apps/${APP}/category`,
      body: { category_id: app?.category_id, review_type: 'FIRST' },
    },
  ]);
});

test('nobody blocks their own app or decides whether it is reviewed, and an app without upload has no review', async ({
  page,
}) => {
  const own = managedApp({ developer: user.did });
  const old = managedApp({ did: 'z8iZold', name: 'old-clock', title: { en: 'Old Clock', zh: '旧时钟' }, latest: null });
  await open(page, '/console/apps', { catalogue: { apps: [own, old] } });
  await expect(page.getByRole('link', { name: 'Review of Atlas Notes 1.3.0' })).toHaveAttribute(
    'href',
    `/console/reviews/${APP}/1.3.0`,
  );
  await expect(page.getByRole('link', { name: /^Review of Old Clock/ })).toHaveCount(0);
  await expect(page.getByRole('button', { name: /^Block/ })).toHaveCount(0);
  for (const name of ['Atlas Notes', 'Old Clock']) {
    await page.getByRole('button', { name: `Edit ${name}` }).click();
    await expect(page.getByRole('dialog').getByRole('combobox', { name: 'Category' })).toBeVisible();
    await expect(page.getByRole('dialog').getByRole('radio')).toHaveCount(0);
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await expect(page.getByRole('dialog')).toHaveCount(0);
  }
});

test('a category is created, and a name that is taken is named at its field', async ({ page }) => {
  const recorded = await open(page, '/console/categories');
  await page.getByRole('button', { name: 'New category' }).click();
  const dialog = page.getByRole('dialog');
  const [en, zh] = [dialog.getByLabel('English name'), dialog.getByLabel('Chinese name')];
  await dialog.getByRole('button', { name: 'Create category' }).click();
  await expect(dialog.getByText('English name is required.')).toBeVisible();
  await expect(en).toBeFocused();
  await en.fill('Maps & more');
  await zh.fill('图'.repeat(41));
  await expect(dialog.getByText('Use letters, digits and spaces only.')).toBeVisible();
  await expect(dialog.getByText('Write at most 40 characters.')).toBeVisible();
  await en.fill(' Maps  2 ');
  await zh.fill('工具');
  await dialog.getByRole('button', { name: 'Create category' }).click();
  await expect(dialog.getByText('工具 already exists.')).toBeVisible();
  await expect(zh).toBeFocused();
  await zh.fill('地图');
  await dialog.getByRole('button', { name: 'Create category' }).click();
  await expect(page.getByRole('table', { name: 'Categories' })).toContainText('Maps 2');
  expect(writesOf(recorded).at(-1)?.body).toEqual({ name: { en: 'Maps 2', zh: '地图' } });
});

test('a category is renamed and moved', async ({ page }) => {
  const recorded = await open(page, '/console/categories');
  await page.getByRole('button', { name: 'Edit Games' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Position').click();
  await page.getByTitle('First', { exact: true }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole('button', { name: /^Edit / }).first()).toHaveAccessibleName('Edit Games');
  await page.getByRole('button', { name: 'Edit Games' }).click();
  await dialog.getByLabel('English name').fill('Play');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('button', { name: 'Edit Play' })).toBeVisible();
  expect(writesOf(recorded).map(({ body }) => body)).toEqual([{ position: 0 }, { name: { en: 'Play', zh: '游戏' } }]);
});

test('a category is deleted after a confirmation, and one with apps is not', async ({ page }) => {
  const recorded = await open(page, '/console/categories');
  await page.getByRole('button', { name: 'Delete Tools' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByText('2 apps are in this category. Move them to other categories first.')).toBeVisible();
  await expect(dialog.getByRole('link', { name: 'Show apps' })).toHaveAttribute(
    'href',
    '/console/apps?category_id=cat_tools',
  );
  await dialog.getByRole('button', { name: 'Close' }).first().click();
  await page.getByRole('button', { name: 'Delete Games' }).click();
  await dialog.getByRole('button', { name: 'Delete category' }).click();
  await expect(page.getByRole('button', { name: 'Delete Games' })).toHaveCount(0);
  expect(writesOf(recorded)).toEqual([{ method: 'DELETE', path: '/console/categories/cat_games', body: null }]);
});

test('a store without categories creates the default ones', async ({ page }) => {
  await open(page, '/console/categories', { catalogue: { categories: [] } });
  await page.getByRole('button', { name: 'Create default categories' }).click();
  await expect(page.getByRole('table', { name: 'Categories' })).toContainText('Games');
});

for (const path of ['apps', 'categories']) {
  test(`${path} that cannot be loaded can be loaded again, and are for administrators only`, async ({ page }) => {
    const failing = { [`/console/${path}`]: 500 };
    await open(page, `/console/${path}`, { failing });
    await expect(page.getByText(`The ${path} couldn't be loaded`)).toBeVisible();
    delete failing[`/console/${path}`];
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect(page.getByRole('table')).toBeVisible();
    await serve(page, { signedIn: true, role: 'reviewer' });
    await page.goto(`/console/${path}`);
    await expect(page.getByRole('heading', { level: 1, name: 'This page is for administrators' })).toBeVisible();
  });
}
