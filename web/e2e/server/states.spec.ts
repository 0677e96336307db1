import { expect, type Page, test } from '@playwright/test';
import type { AppDetail, CreditNote, InvoiceDetail, Page as List, PaymentMethod } from '../../src/api/types';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { Owner } from './owner';

/** Each charge of this card is disputed. */
const DISPUTED = '4000 0000 0000 0259';

/** Pages and dialogs that no purchase passes: older versions, missing pages, lists of the console, and what an owner confirms. */
forEachDisplay(({ locale, scheme }) => {
  const openAsOwner = async (owner: Owner, page: Page) =>
    new Customer(await owner.page(page, { locale, scheme }), locale);

  test('older versions and missing pages fit the screen, and private pages ask for a sign-in', async ({ page }) => {
    const visitor = new Customer(page, locale);
    const { list } = await visitor.get<List<AppDetail>>('/api/apps');
    const apps = await Promise.all(list.map(({ did }) => visitor.get<AppDetail>(`/api/apps/${did}`)));
    const app = apps.find(({ versions }) => versions.length > 1);
    const paths = [
      `/apps/${app?.did}/${app?.versions.at(-1)?.version}`,
      '/apps/unknown',
      '/customer',
      '/console/on-hold',
    ];
    for (const path of paths) {
      await page.goto(path);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await page.waitForLoadState('networkidle');
      await visitor.expectValidPage();
    }
  });

  test('objects of others are not found, and customers do not enter the console', async ({ page }) => {
    const customer = new Customer(page, locale);
    await customer.subscribe('invoice-desk');
    for (const path of [
      '/customer/invoice/in_unknown',
      '/customer/subscription/sub_unknown',
      '/customer/invoice/past-due',
      '/console/on-hold',
    ]) {
      await page.goto(path);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await page.waitForLoadState('networkidle');
      await customer.expectValidPage();
    }
  });

  test('the lists of holds and payment methods, and a disputed payment, fit the screen', async ({ page, browser }) => {
    const customer = new Customer(page, locale);
    await customer.buyByCard('hushwave', DISPUTED);
    const owner = await Owner.of(browser);
    const disputes = async () => (await owner.get<List<unknown>>('/api/disputes')).list.length;
    await expect.poll(disputes, SETTLED).toBeGreaterThan(0);
    const methods = await owner.get<PaymentMethod[]>('/api/payment-methods');
    const admin = await openAsOwner(owner, page);
    for (const path of [
      '/console/disputes',
      '/console/on-hold',
      '/console/payment-methods',
      ...methods.map(({ id }) => `/console/payment-methods/${id}`),
    ]) {
      await admin.page.goto(path);
      await expect(admin.page.getByRole('heading', { level: 1 })).toBeVisible();
      await admin.page.waitForLoadState('networkidle');
      await admin.expectValidPage();
    }
    // The customer sees that the payment is disputed.
    await page.goto('/customer');
    await page.waitForLoadState('networkidle');
    await customer.expectValidPage();
  });

  test('every dialog in which an owner decides about a subscription and its money fits the screen', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    await customer.subscribe('invoice-desk');
    const { id, customer_id: customerId } = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), `Dialogs, ${locale}`);
    await owner.advance(clock, { by: 'next_invoice' });
    const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: id });
    const invoice = list.find(({ status, total }) => status === 'paid' && total !== '0');
    await owner.post<CreditNote>('/api/credit-notes', { invoice_id: invoice?.id, amount: '1', to: 'balance' });

    const admin = await openAsOwner(owner, page);
    const dialog = admin.page.getByRole('dialog');
    const view = async (open: Parameters<typeof admin.button>[0]) => {
      await admin.button(open).first().click();
      await expect(dialog).toBeVisible();
      await admin.expectValidPage();
      await admin.page.keyboard.press('Escape');
      await expect(dialog).toBeHidden();
    };
    await test.step('of a subscription', async () => {
      await admin.page.goto(`/console/subscriptions/${id}`);
      await admin.button('admin:admin.cancel').click();
      await dialog.getByText(translate('admin:cancel.at.nowDetail')).click();
      await admin.expectValidPage();
      await dialog.getByRole('button', { name: translate('admin:cancel.back') }).click();
      await expect(dialog).toBeHidden();
      await view('admin:admin.pause');
      await view('admin:admin.forfeitDeposit');
    });
    await test.step('of an invoice', async () => {
      await admin.page.goto(`/console/invoices/${invoice?.id}`);
      await view('admin:note.open');
    });
    await test.step('of a balance', async () => {
      await admin.page.goto(`/console/customers/${customerId}`);
      await view('admin:payout.action');
    });
    await test.step('of a subscription that has ended', async () => {
      await owner.post(`/api/subscriptions/${id}/cancel`, { at: 'now' }, 'PUT');
      await admin.page.goto(`/console/subscriptions/${id}`);
      await view('admin:admin.returnDeposit');
    });
  });
});
