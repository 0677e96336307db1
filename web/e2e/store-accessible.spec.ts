import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { freeApp, paidApp } from './fixtures/data';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

const screens: [name: string, path: string, signedIn: boolean][] = [
  ['home', '/', false],
  ['search results', '/search?keyword=no', false],
  ['search without results', '/search?keyword=zzzz', false],
  ['category', '/category/media', false],
  ['app to buy', `/apps/${paidApp.did}`, false],
  ['older version of a free app', `/apps/${freeApp.did}/1.3.2`, true],
  ['app that does not exist', '/apps/z0', false],
  ['portal', '/customer', true],
  ['invoice', '/customer/invoice/in_0Kq7Zt3', true],
  ['profile', '/profile', true],
  ["somebody's profile", `/profile?did=${paidApp.developer.did}&name=Juniper`, false],
];

for (const [name, path, signedIn] of screens) {
  for (const display of displaySettings) {
    test(`${name} has no accessibility fault in ${display.locale}, ${display.scheme}`, async ({ page }) => {
      await applyDisplaySettings(page, display);
      await serve(page, { signedIn });
      await page.goto(path);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
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

test('touch targets on the home page are at least 44 px high', async ({ page }) => {
  await applyDisplaySettings(page);
  await serve(page);
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Trending' })).toBeVisible();
  const small = await page
    .locator('header :is(button, a, input):visible, nav :is(a, button):visible')
    .evaluateAll((all) =>
      all.filter((each) => each.getBoundingClientRect().height < 44).map((each) => each.outerHTML.slice(0, 120)),
    );
  expect(small).toEqual([]);
});
