import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { NOW } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { serve } from './fixtures/server';

const wrong = { trusted: false, source: 'uptime', ahead_seconds: 3650 * 86_400, host: 'shop-1' } as const;

for (const display of displaySettings) {
  test(`an owner confirms a doubted clock, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await page.clock.setFixedTime(NOW * 1000);
    const recorded = await serve(page, { signedIn: true, role: 'owner', billing: { storeClock: wrong } });
    await page.goto('/console/stakes');
    const banner = page.getByRole('alert');
    await expect(banner).toContainText(/3,650 days ahead|快 3,650 天/);
    await expectAccessible(page);
    await banner.getByRole('button').click();
    await expectAccessible(page);
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Confirm clock|确认时钟/ })
      .click();
    await expect(banner).toHaveCount(0);
    expect(recorded.calls.some(({ method, path }) => method === 'PUT' && path === '/clock/confirm')).toBe(true);
  });
}

test('an admin sees that billing has stopped and cannot confirm the clock', async ({ page }) => {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'admin', billing: { storeClock: wrong } });
  await page.goto('/console/subscriptions/sub_active');
  await expect(page.getByRole('alert')).toContainText('Automatic billing has stopped');
  await expect(page.getByRole('alert').getByRole('button')).toHaveCount(0);
});
