import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { NOW } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

const disk = { short: true, host: 'shop-1', folder: '/srv/souk', free_bytes: 12_900_000, reserve_bytes: 268_435_456 };

for (const display of displaySettings) {
  test(`an owner sees which disk is full and what to do, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await page.clock.setFixedTime(NOW * 1000);
    await serve(page, { signedIn: true, role: 'owner', billing: { disk } });
    await page.goto('/console/stakes');
    const banner = page.getByRole('alert');
    await expect(banner).toContainText('/srv/souk');
    await expect(banner).toContainText(/12\.9\sMB/);
    await expect(banner).toContainText(/enlarge the disk|扩充磁盘/);
    await expectAccessible(page);
  });
}
