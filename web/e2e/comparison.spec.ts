import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { APP, claimed, NOW, review } from './fixtures/reviews';
import { comparison } from './fixtures/selling';
import { serve } from './fixtures/server';

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW));

for (const display of displaySettings) {
  test(`a reviewer compares versions, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'reviewer', reviews: { reviews: [claimed()] } });
    await page.goto(`/console/reviews/${APP}/1.3.0`);
    const section = page.getByRole('region', { name: /^Comparison with version 1\.2\.0$|^与版本 1\.2\.0 的对比$/ });
    await expect(section.getByText('Works offline and [U+202E]online.')).toBeVisible();
    await expect(section.getByText('node setup.js')).toBeVisible();
    await expect(section.getByText('public/map.wasm')).toBeVisible();
    await expect(section.getByText(/^19\.5% /)).toBeVisible();
    await expect(section.getByRole('img')).toHaveCount(3);
    await expectAccessible(page);
  });
}

test('a first version is compared with nothing, and its files are listed later', async ({ page }) => {
  await applyDisplaySettings(page);
  const first = { ...comparison, base: null, texts: [], files: null, terms: [], scripts: [], fields: [] };
  const facts = { permissions_added: [], permissions_removed: [], dependencies: [] };
  await serve(page, {
    signedIn: true,
    role: 'developer',
    reviews: { reviews: [review()] },
    selling: { comparison: { ...first, ...facts } },
  });
  await page.goto(`/developer/apps/${APP}/1.3.0`);
  const section = page.getByRole('region', { name: 'Contents of the first version' });
  await expect(section.getByText('The files are listed when the checks have run.')).toBeVisible();
  await expect(section.getByText('Nothing differs.')).toHaveCount(2);
});

test('a comparison that cannot be loaded can be tried again', async ({ page }) => {
  await applyDisplaySettings(page);
  const failing: Record<string, number> = { [`/apps/${APP}/versions/1.3.0/comparison`]: 400 };
  await serve(page, { signedIn: true, role: 'reviewer', reviews: { reviews: [claimed()] }, failing });
  await page.goto(`/console/reviews/${APP}/1.3.0`);
  await expect(page.getByText("The comparison couldn't be loaded")).toBeVisible();
  delete failing[`/apps/${APP}/versions/1.3.0/comparison`];
  await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByText('node setup.js')).toBeVisible();
});
