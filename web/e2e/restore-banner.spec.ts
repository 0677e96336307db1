import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { NOW } from './fixtures/billing';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { found } from './fixtures/on-hold';
import { serve } from './fixtures/server';

const held = {
  held: true,
  restored_at: '2026-11-19T09:30:00.000Z',
  backup_at: '2026-11-18T22:00:00.000Z',
  stopped_at: null,
  imported_at: null,
  import_failure: null,
} as const;

for (const display of displaySettings) {
  test(`an owner confirms that the original is stopped, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await page.clock.setFixedTime(NOW * 1000);
    const billing = { restore: held, foundPayments: found };
    const recorded = await serve(page, { signedIn: true, role: 'owner', billing });
    await page.goto('/console/on-hold');
    const banner = page.getByRole('alert');
    await expect(banner).toContainText(/restored from a backup|已从备份恢复/);
    await expect(page.getByRole('heading', { name: /found after the restore|恢复后发现的付款/ })).toBeVisible();
    await expect(page.getByText('4A5B6C7D…9F4A5B')).toBeVisible();
    await expectAccessible(page);
    await page
      .getByRole('button', { name: /Mark as handled|标记为已处理/ })
      .first()
      .click();
    await expect(page.getByRole('button', { name: /Mark as handled|标记为已处理/ })).toHaveCount(1);
    await banner.getByRole('button').click();
    await expectAccessible(page);
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Confirm original is stopped|确认原商店已停止/ })
      .click();
    await expect(banner).toContainText(/being imported|正在导入/);
    await expect(banner.getByRole('button')).toHaveCount(0);
    const puts = recorded.calls.filter(({ method }) => method === 'PUT').map(({ path }) => path);
    expect(puts).toEqual(['/restore/found-payments/handled', '/restore/confirm']);
  });
}

test('an admin sees that a restored store is on hold and cannot confirm', async ({ page }) => {
  await page.clock.setFixedTime(NOW * 1000);
  const failing = { ...held, import_failure: 'Card: the payment network could not be reached: the connection failed' };
  await serve(page, { signedIn: true, role: 'admin', billing: { restore: failing, foundPayments: found } });
  await page.goto('/console/on-hold');
  await expect(page.getByRole('alert')).toContainText("isn't complete and will be retried: Card");
  await expect(page.getByRole('alert').getByRole('button')).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Mark as handled' })).toHaveCount(0);
});

test('an admin sees on a page of a subscription that the store is on hold, and cannot confirm', async ({ page }) => {
  await page.clock.setFixedTime(NOW * 1000);
  await serve(page, { signedIn: true, role: 'admin', billing: { restore: held } });
  await page.goto('/console/subscriptions/sub_active');
  await expect(page.getByRole('alert')).toContainText('restored from a backup');
  await expect(page.getByRole('alert').getByRole('button')).toHaveCount(0);
});
