import { expect, test as setup } from '@playwright/test';
import { applyDisplaySettings } from '../fixtures/display-settings';
import { Customer, SETTLED } from '../server/customer';
import { BUYER } from './buyer';

setup('a customer buys an app while the sandbox is on', async ({ page }) => {
  setup.setTimeout(120_000);
  await applyDisplaySettings(page);
  const customer = new Customer(page, 'en');
  await customer.open('hushwave', 'app');
  await customer.pay.click();
  await customer.approve();
  await expect(page.getByRole('heading', { level: 1, name: customer.translate('completed:title') })).toBeVisible(
    SETTLED,
  );
  await page.context().storageState({ path: BUYER });
});
