import { expect, test } from '@playwright/test';
import type { Category, CreditNote, InvoiceDetail, Page as List } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import { expectStable } from '../fixtures/layout-shift';
import { Customer, forEachDisplay } from './customer';
import { Owner } from './owner';

/** The layout shifts of pages whose own tests leave them before they are measured. Each page is loaded anew. */

/** Opens pages of the console one after another. */
async function expectValidPages(admin: Customer, paths: string[]): Promise<void> {
  for (const path of paths) {
    await admin.page.goto(path);
    await expect(admin.page.getByRole('heading', { level: 1 })).toBeVisible();
    await admin.page.waitForLoadState('networkidle');
    await admin.expectValidPage();
  }
}

forEachDisplay(({ locale, scheme }) => {
  test('the lists of the store do not shift', async ({ page }) => {
    const visitor = new Customer(page, locale);
    const { translate } = visitor;
    const { list } = await visitor.get<List<Category>>('/api/categories');
    await page.goto('/');
    await expect(page.getByRole('region').nth(2)).toBeVisible();
    await visitor.expectValidPage();
    for (const path of ['/search?keyword=a', '/search?keyword=nothing-is-called-this', `/category/${list[0]?.slug}`]) {
      await page.goto(path);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await page.waitForLoadState('networkidle');
      await visitor.expectValidPage();
    }
    await page.goto('/sandbox/wallet');
    const create = page.getByRole('button', { name: translate('sandbox:createFirst') });
    await expect(create).toBeVisible();
    await expectStable(page);
    await create.click();
    await expect(page.getByTestId('balance')).toHaveText(/SKT/);
    await expectStable(page);
  });

  test('the pages of a customer do not shift, and a used owner link is refused', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    await customer.subscribe('invoice-desk');
    // With an account and a permission, which load after the page.
    await page.goto('/sandbox/wallet');
    await expect(page.getByTestId('balance')).toHaveText(/SKT/);
    await expect(page.getByRole('heading', { name: translate('sandbox:permissions') })).toBeVisible();
    await customer.expectValidPage();

    await page.goto('/profile');
    await expect(page.locator('#details_name')).toBeVisible();
    await customer.expectValidPage();

    await page.goto('/claim-owner?token=used');
    const claim = page.getByRole('button', { name: translate('portal:owner.action') });
    await expect(claim).toBeVisible();
    for (const key of ['owner.text', 'owner.rights.sales', 'owner.rights.team', 'owner.once', 'owner.onceText'])
      await expect(page.getByText(translate(`portal:${key}`))).toBeVisible();
    await customer.expectValidPage();
    await claim.click();
    await expect(page.getByRole('heading', { level: 1, name: translate('portal:owner.rejected') })).toBeVisible();
    await expectAccessible(page);
  });

  test('the pages of the console do not shift and fit the screen', async ({ page, browser }) => {
    const customer = new Customer(page, locale);
    const owner = await Owner.of(browser);
    await customer.subscribe('invoice-desk');
    const subscription = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), `Stability, ${locale}`);
    await owner.advance(clock, { by: 'next_invoice' });
    const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: subscription.id });
    const invoice = list.find(({ status, total }) => status === 'paid' && total !== '0');
    await owner.post<CreditNote>('/api/credit-notes', { invoice_id: invoice?.id, amount: '1', to: 'balance' });

    const admin = new Customer(await owner.page(page, { locale, scheme }), locale);
    await expectValidPages(admin, [
      `/console/customers/${subscription.customer_id}`,
      `/console/invoices/${invoice?.id}`,
      `/console/subscriptions/${subscription.id}`,
      '/console/disputes',
      '/console/stakes',
      '/console/payables',
      '/console/credit-notes',
    ]);
    // The amount of the newest credit note is visible without scrolling sideways.
    await expect(admin.page.getByRole('table').locator('.money').filter({ hasText: '1 SKT' }).first()).toBeInViewport({
      ratio: 1,
    });
  });

  test('the pages about the store itself do not shift and fit the screen', async ({ page, browser }) => {
    const owner = await Owner.of(browser);
    const admin = new Customer(await owner.page(page, { locale, scheme }), locale);
    await expectValidPages(admin, [
      '/console/settings',
      '/console/doctor',
      '/console/audit-log',
      '/console/reviews',
      '/console/developers',
      '/console/apps',
      '/console/categories',
      '/console/blocked-digests',
      '/customer/security',
    ]);
  });
});
