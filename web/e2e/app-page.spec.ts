import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { freeApp, paidApp } from './fixtures/data';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { appInstance } from './fixtures/publishing';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => applyDisplaySettings(page));

test('a paid app shows its price and links to its checkout', async ({ page }) => {
  await serve(page);
  await page.goto(`/apps/${paidApp.did}`);
  const buy = page.getByRole('link', { name: 'Buy for 5 SKT' });
  await expect(buy).toHaveAttribute('href', `/checkout/pay/${paidApp.payment_link_id}`);
  await expect(page.getByText('Or $4.99. Choose at checkout.')).toBeVisible();
  await expect(page).toHaveTitle('Lantern Notes · Souk');
});

test('a free app can be downloaded', async ({ page }) => {
  await serve(page);
  await page.goto(`/apps/${freeApp.did}`);
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Get', exact: true }).click();
  expect((await download).url()).toContain(`/api/apps/${freeApp.did}/1.4.0/bundle`);
  await expect(page.getByText('The download of version 1.4.0 has started.')).toBeVisible();
  const store = new URL(page.url()).origin;
  await expect(page.getByText(`souk install ${freeApp.did} --store ${store}`, { exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Copy: Install from the command line' })).toBeVisible();
});

test('an owned app offers a download instead of a purchase', async ({ page }) => {
  await serve(page, { signedIn: true, owned: [paidApp.did] });
  await page.goto(`/apps/${paidApp.did}`);
  await expect(page.getByRole('link', { name: 'Download', exact: true })).toBeVisible();
  await expect(page.getByRole('link', { name: /^Buy/ })).toHaveCount(0);
});

test('the short URL redirects to the page of the app', async ({ page }) => {
  await serve(page);
  await page.goto(`/app/${paidApp.did}`);
  await expect(page).toHaveURL(`/apps/${paidApp.did}`);
});

test('an older version can be viewed', async ({ page }) => {
  const recorded = await serve(page);
  await page.goto(`/apps/${paidApp.did}`);
  // The loaded readme moves the versions, so a click before that could miss the link.
  await expect(page.getByRole('link', { name: 'the handbook' })).toBeVisible();
  await page.getByRole('link', { name: 'View version 1.3.2' }).click();
  await expect(page).toHaveURL(`/apps/${paidApp.did}/1.3.2`);
  await expect(page.getByRole('note').filter({ hasText: "You're viewing version 1.3.2." })).toBeVisible();
  await expect(page.getByText(`souk install ${paidApp.did}@1.3.2 --store`)).toBeVisible();
  expect(
    recorded.calls.some(({ path, query }) => path === `/apps/${paidApp.did}` && query.get('version') === '1.3.2'),
  ).toBe(true);
  await page.getByRole('link', { name: 'View the latest version' }).click();
  await expect(page).toHaveURL(`/apps/${paidApp.did}`);
});

test('screenshots open in a dialog, change with the arrow keys, and restore the focus', async ({ page }) => {
  await serve(page);
  await page.goto(`/apps/${paidApp.did}`);
  const first = page.getByRole('button', { name: 'Open screenshot: All notes in one list' });
  await first.click();
  const dialog = page.getByRole('dialog', { name: 'Screenshots' });
  await expect(dialog.getByRole('img', { name: 'All notes in one list' })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press('ArrowRight');
  await expect(dialog.getByRole('img', { name: 'How notes are linked' })).toBeVisible();
  await expect(dialog).toContainText('Screenshot 2 of 3');
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await expect(first).toBeFocused();
});

test('a readme adds no second h1, and its links are nofollow', async ({ page }) => {
  await serve(page);
  await page.goto(`/apps/${paidApp.did}`);
  await expect(page.getByRole('heading', { name: 'What it does', level: 3 })).toBeVisible();
  await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1);
  await expect(page.getByRole('link', { name: 'the handbook' })).toHaveAttribute('rel', /nofollow/);
});

test('an unknown app shows a message and links to the store', async ({ page }) => {
  await serve(page);
  await page.goto('/apps/z0');
  await expect(page.getByRole('heading', { level: 1, name: "This app doesn't exist" })).toBeVisible();
  await page.getByRole('link', { name: 'Back to store', exact: true }).click();
  await expect(page).toHaveURL('/');
});

for (const display of displaySettings) {
  test(`an app shows its public instances, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    const others = Array.from({ length: 11 }, (_, index) =>
      appInstance({ appId: `zNK${index}`, blockletDid: freeApp.did, appUrl: `https://n${index}.example/` }),
    );
    const instances = [appInstance({ blockletDid: freeApp.did }), ...others];
    await serve(page, { publishing: { instances } });
    await page.goto(`/apps/${freeApp.did}`);
    const part = page.getByRole('region', { name: /^Public instances$|^公开实例$/ });
    const link = part.getByRole('link', { name: /^notes\.example\/team/ });
    await expect(link).toHaveAttribute('href', 'https://notes.example/team/');
    await expect(link).toHaveAttribute('rel', /nofollow ugc noopener noreferrer/);
    await expect(part.getByRole('link')).toHaveCount(10);
    await expect(part.getByText(/^and 2 more$|^另有 2 个$/)).toBeVisible();
    await expectAccessible(page);
  });
}

test('an app without instances, or whose instances cannot be loaded, has no such part', async ({ page }) => {
  await serve(page, { failing: { [`/blocklets/${paidApp.did}/instances`]: 500 } });
  for (const { did } of [paidApp, freeApp]) {
    await page.goto(`/apps/${did}`);
    await expect(page.getByRole('heading', { name: 'Versions' })).toBeVisible();
    await expect(page.getByRole('heading', { name: 'Public instances' })).toHaveCount(0);
  }
});
