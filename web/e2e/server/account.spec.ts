import { expect, test } from '@playwright/test';
import type { Entitlement, InvoiceDetail, Page as List, PaymentIntent } from '../../src/api/types';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { emailSubjects } from './emails';
import { Owner } from './owner';

forEachDisplay(({ locale, scheme }) => {
  test('an app that is both bought and included in a subscription is listed once; no country is prefilled', async ({
    page,
  }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    await customer.open('hushwave', 'app');
    await customer.pay.click();
    await customer.approve();
    await expect(page.getByRole('heading', { level: 1, name: translate('completed:title') })).toBeVisible(SETTLED);
    await customer.subscribe('hushwave');
    const { id } = await customer.subscription();
    const { list } = await customer.get<List<Entitlement>>('/api/entitlements');
    // Absent fields are omitted: an app bought on its own has no subscription.
    expect(list.map(({ subscription_id: by }) => by)).toEqual([id, undefined]);

    await page.goto('/customer');
    const purchases = page.getByRole('region', { name: translate('portal:portal.purchases') });
    await expect(purchases.getByRole('heading', { level: 3 })).toHaveCount(1);
    await expect(purchases.getByRole('link', { name: translate('portal:portal.downloadOf') })).toHaveCount(1);
    const grants = purchases.getByRole('list', { name: translate('portal:portal.grants') }).getByRole('listitem');
    await expect(grants).toHaveCount(2);
    await expect(grants.first().getByRole('link', { name: translate('portal:portal.manageOf') })).toBeVisible();
    await expect(grants.last().getByRole('link', { name: translate('portal:portal.receiptOf') })).toBeVisible();
    await customer.expectValidPage();

    // A wallet checkout has no address fields, so no preset country is stored or shown.
    await expect(page.locator('#details_country')).toHaveValue('');
    await expect(page.getByText(translate('portal:profile.countryNone'))).toBeVisible();
    await grants.last().getByRole('link').click();
    await expect(page.getByRole('heading', { level: 1, name: translate('portal:invoice.title') })).toBeVisible();
    const invoice = await customer.get<InvoiceDetail>(`/api/invoices/${list[1]?.invoice_id}`);
    expect(invoice.customer_address?.country ?? '').toBe('');
    await expect(page.getByText(/^(United States|美国)$/)).toHaveCount(0);
    await page.goto('/customer');
    await grants.first().getByRole('link').click();
    await expect(page).toHaveURL(new RegExp(`/customer/subscription/${id}`));
  });

  test('a past-due subscription is canceled without a reason and shows its end; a settled attempt moves to the history', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    await customer.subscribe('invoice-desk');
    const { id } = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), `Past due, ${locale}`);
    await customer.emptyWallet();
    // The trial ends, and its first payment fails.
    await owner.advance(clock, { by: 'next_invoice' });
    expect((await customer.subscription()).status).toBe('past_due');

    await test.step('the end date is shown with the overdue balance', async () => {
      await page.goto(`/customer/subscription/${id}`);
      await customer.button('subscription:action.cancelSubscription').click();
      const dialog = page.getByRole('dialog');
      await expect(dialog.getByText(translate('subscription:cancel.pastDue'))).toBeVisible();
      await customer.expectValidPage();
      await dialog.getByRole('button', { name: translate('subscription:cancel.action') }).click();
      await expect(page.getByText(translate('subscription:cancel.done'))).toBeVisible(SETTLED);
      await expect(page.getByText(translate('subscription:next.pastDueEnds'))).toBeVisible();
      await expect(page.locator('[data-event="willEnd"]')).toBeVisible();
      const { cancelation_details: details, status } = await customer.subscription();
      expect([status, details?.reason, details?.feedback]).toEqual(['past_due', 'cancellation_requested', null]);
      await customer.expectValidPage();
    });

    await test.step('the overdue balance is paid, and the failed attempt requires no action', async () => {
      const payments = page.getByRole('region', { name: translate('portal:portal.payments') });
      const urgent = payments.getByRole('table', { name: translate('portal:portal.payments.action') });
      await page.goto('/customer');
      await expect(urgent.getByText(translate('portal:intent.requires_action'))).toBeVisible();
      await customer.expectValidPage();
      await page.goto(`/customer/subscription/${id}`);
      await customer.button('subscription:action.pay').click();
      const dialog = page.getByRole('dialog', { name: translate('subscription:overdue.title') });
      await customer.expectValidPage();
      await dialog.getByRole('button', { name: translate('subscription:pay.amount', { amount: '3 SKT' }) }).click();
      await customer.approve();
      await expect
        .poll(async () => {
          const { list } = await customer.get<List<PaymentIntent>>('/api/payment-intents');
          return list.filter(({ invoice_status: status }) => status === 'uncollectible').length;
        }, SETTLED)
        .toBe(0);
      await page.goto('/customer');
      const history = payments.getByRole('table', { name: translate('portal:portal.payments.history') });
      await expect(history.getByText(translate('portal:intent.failed'))).toBeVisible();
      await expect(payments.getByText(translate('portal:portal.payments.action'))).toHaveCount(0);
      await expect(urgent).toHaveCount(0);
      await customer.expectValidPage();
    });

    await test.step('the subscription ends', async () => {
      await owner.advance(clock, { by: 'year' });
      await page.goto(`/customer/subscription/${id}`);
      await expect(
        page.getByText(translate('subscription:subscription.status.canceled'), { exact: true }).first(),
      ).toBeVisible();
      await expect(page.getByText(translate('subscription:next.ended'))).toBeVisible();
      await expect
        .poll(() => emailSubjects(id), SETTLED)
        .toContainEqual(expect.stringMatching(locale === 'zh' ? /订阅已结束$/ : /subscription has ended$/));
      await customer.expectValidPage();
    });
  });

  test('an administrator opens a customer’s subscription in the console and refunds a payment', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    await customer.subscribe('invoice-desk');
    const { id } = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), `Console, ${locale}`);
    await owner.advance(clock, { by: 'next_invoice' });
    const admin = new Customer(await owner.page(page, { locale, scheme }), locale);
    await admin.page.goto(`/customer/subscription/${id}`);
    await expect(admin.page).toHaveURL(new RegExp(`/console/subscriptions/${id}`));
    await expect(admin.page.getByRole('region', { name: translate('admin:title') })).toBeVisible();
    await expect(admin.button('admin:refund.open')).toBeVisible(SETTLED);
    await admin.expectValidPage();
    await admin.button('admin:refund.open').click();
    await admin.expectValidPage();
    await admin.page.locator('#refund_amount').fill('1');
    await admin.button('admin:refund.actionFor', { amount: '1 SKT' }).click();
    await expect(admin.page.locator('#announcer')).toHaveText(translate('admin:refund.done'), SETTLED);
    await admin.button('admin:admin.pause').click();
    await admin.page
      .getByRole('dialog')
      .getByRole('button', { name: translate('admin:admin.pause') })
      .click();
    await expect(admin.page.getByText(translate('admin:done.pause'))).toBeVisible(SETTLED);
    await admin.expectValidPage();
    await page.reload();
    await expect(page.getByText(translate('subscription:next.paused'))).toBeVisible();
  });
});
