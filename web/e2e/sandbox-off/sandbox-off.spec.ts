import { type Browser, expect, type Page, test } from '@playwright/test';
import type { App, InvoiceDetail, Page as List } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import type { DisplaySettings } from '../fixtures/display-settings';
import { Customer, forEachDisplay, SETTLED } from '../server/customer';
import { Owner } from '../server/owner';
import { BUYER } from './buyer';

/** What the pages of a store say whose sandbox was switched off after a purchase. */

async function customerIn(page: Page, language: 'en' | 'zh'): Promise<Customer> {
  await page.addInitScript(() => localStorage.setItem('livemode', 'false'));
  return new Customer(page, language);
}

async function paidApp(customer: Customer): Promise<string> {
  const { list } = await customer.get<List<App>>('/api/apps', { price: 'paid' });
  if (!list[0]) throw new Error('the demo has no paid app');
  return list[0].did;
}

async function methodPage(browser: Browser, page: Page, display: DisplaySettings): Promise<Customer> {
  const owner = await Owner.of(browser);
  return customerIn(await owner.page(page, display), display.locale);
}

forEachDisplay((display) => {
  const { locale } = display;

  test('a new test order is refused, and the page says why', async ({ page }) => {
    const customer = await customerIn(page, locale);
    const { translate } = customer;
    await page.goto(`/apps/${await paidApp(customer)}`);
    const bar = page.getByRole('region', { name: translate('common:mode.test') });
    await expect(bar.getByText(translate('common:mode.sandboxOff'))).toBeVisible(SETTLED);
    await page
      .getByRole('link', { name: translate('store:app.buy') })
      .first()
      .click();
    await expect(page.getByRole('heading', { level: 1, name: translate('card:sandboxOffTitle') })).toBeVisible(SETTLED);
    await expect(page.getByText(translate('card:sandboxOffText'))).toBeVisible();
    await customer.expectValidPage();
  });

  test('signing in does not offer the sandbox wallet, and its page explains itself in both languages', async ({
    page,
  }) => {
    const customer = await customerIn(page, locale);
    const { translate } = customer;
    // Asks a visitor to sign in at once.
    await page.goto('/customer');
    await expect(page.getByText(translate('connect:sandboxOff'))).toBeVisible(SETTLED);
    await expect(customer.button('connect:sandbox')).toHaveCount(0);
    await customer.expectValidPage();
    const response = await page.goto('/sandbox/wallet');
    expect(response?.status()).toBe(503);
    await expect(page.getByRole('heading', { name: 'The sandbox is switched off' })).toBeVisible();
    await expect(page.getByRole('heading', { name: '沙盒已关闭' })).toBeVisible();
    await expectAccessible(page);
  });

  test('an owner reads that the method is off, not that it is broken', async ({ page, browser }) => {
    const admin = await methodPage(browser, page, display);
    await admin.page.goto('/console/payment-methods/pm_sandbox_1_wallet');
    await expect(admin.page.getByText(admin.translate('error-messages:error.SANDBOX_OFF'))).toBeVisible(SETTLED);
    await expect(admin.page.getByText(admin.translate('console:methods.broken'))).toHaveCount(0);
    await admin.expectValidPage();
    await admin.page.context().close();
  });

  test.describe('with an earlier purchase', () => {
    test.use({ storageState: BUYER });

    test('the invoice stays readable', async ({ page }) => {
      const customer = await customerIn(page, locale);
      const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices');
      const paid = list.find(({ status }) => status === 'paid');
      await page.goto(`/customer/invoice/${paid?.id}`);
      await expect(page.getByText(customer.translate('portal:invoice.status.paid')).first()).toBeVisible(SETTLED);
      await customer.expectValidPage();
    });
  });
});
