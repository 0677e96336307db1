import { expect, test } from '@playwright/test';
import type { Entitlement, InvoiceDetail, Page as List, PaymentIntent } from '../../src/api/types';
import { Customer, inLooks, SETTLED } from './customer';
import { Owner } from './owner';

inLooks(({ locale }) => {
  test('an app that is bought and included in a subscription is listed once, without a country nobody entered', async ({
    page,
  }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    await customer.open('hushwave', 'app');
    await customer.pay.click();
    await customer.agree();
    await expect(page.getByRole('heading', { level: 1, name: say('completed:title') })).toBeVisible(SETTLED);
    await customer.subscribe('hushwave');
    const { id } = await customer.subscription();
    const { list } = await customer.get<List<Entitlement>>('/api/entitlements');
    // The store leaves out what it does not have: an app that was bought on its own has no subscription.
    expect(list.map(({ subscription_id: by }) => by)).toEqual([id, undefined]);

    await page.goto('/customer');
    const purchases = page.getByRole('region', { name: say('portal:portal.purchases') });
    await expect(purchases.getByRole('heading', { level: 3 })).toHaveCount(1);
    await expect(purchases.getByRole('link', { name: say('portal:portal.downloadOf') })).toHaveCount(1);
    const grants = purchases.getByRole('list', { name: say('portal:portal.grants') }).getByRole('listitem');
    await expect(grants).toHaveCount(2);
    await expect(grants.first().getByRole('link', { name: say('portal:portal.manageOf') })).toBeVisible();
    await expect(grants.last().getByRole('link', { name: say('portal:portal.receiptOf') })).toBeVisible();
    await customer.looksRight();

    // The wallet's form shows no address: its preset country is neither stored nor shown.
    await expect(page.locator('#details_country')).toHaveValue('');
    await expect(page.getByText(say('portal:profile.countryNone'))).toBeVisible();
    await grants.last().getByRole('link').click();
    await expect(page.getByRole('heading', { level: 1, name: say('portal:invoice.title') })).toBeVisible();
    const invoice = await customer.get<InvoiceDetail>(`/api/invoices/${list[1]?.invoice_id}`);
    expect(invoice.customer_address?.country ?? '').toBe('');
    await expect(page.getByText(/^(United States|美国)$/)).toHaveCount(0);
    await page.goto('/customer');
    await grants.first().getByRole('link').click();
    await expect(page).toHaveURL(new RegExp(`/customer/subscription/${id}`));
  });

  test('a past-due subscription is canceled without a reason and shows its end; a settled attempt is history', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const owner = await Owner.of(browser);
    await customer.subscribe('invoice-desk');
    const { id } = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), `Past due, ${locale}`);
    await customer.emptyWallet();
    // The trial ends, and its first payment fails.
    await owner.advance(clock, { by: 'next_invoice' });
    expect((await customer.subscription()).status).toBe('past_due');

    await test.step('the end is shown beside the debt', async () => {
      await page.goto(`/customer/subscription/${id}`);
      await customer.button('subscription:action.cancelSubscription').click();
      const dialog = page.getByRole('dialog');
      await expect(dialog.getByText(say('subscription:cancel.pastDue'))).toBeVisible();
      await customer.looksRight();
      await dialog.getByRole('button', { name: say('subscription:cancel.action') }).click();
      await expect(page.getByText(say('subscription:cancel.done'))).toBeVisible(SETTLED);
      await expect(page.getByText(say('subscription:next.pastDueEnds'))).toBeVisible();
      await expect(page.locator('[data-event="willEnd"]')).toBeVisible();
      const { cancelation_details: why, status } = await customer.subscription();
      expect([status, why?.reason, why?.feedback]).toEqual(['past_due', 'cancellation_requested', null]);
      await customer.looksRight();
    });

    await test.step('the overdue balance is paid, and the failed attempt asks for nothing', async () => {
      await customer.button('subscription:action.pay').click();
      const dialog = page.getByRole('dialog', { name: say('subscription:overdue.title') });
      await customer.looksRight();
      await dialog.getByRole('button', { name: say('subscription:pay.amount', { amount: '3 SKT' }) }).click();
      await customer.agree();
      await expect
        .poll(async () => {
          const { list } = await customer.get<List<PaymentIntent>>('/api/payment-intents');
          return list.filter(({ invoice_status: status }) => status === 'uncollectible').length;
        }, SETTLED)
        .toBe(0);
      await page.goto('/customer');
      const payments = page.getByRole('region', { name: say('portal:portal.payments') });
      await expect(payments.getByRole('table', { name: say('portal:portal.payments.history') })).toBeVisible();
      await expect(payments.getByText(say('portal:portal.payments.action'))).toHaveCount(0);
      await customer.looksRight();
    });

    await test.step('its end comes', async () => {
      await owner.advance(clock, { by: 'year' });
      await page.goto(`/customer/subscription/${id}`);
      await expect(
        page.getByText(say('subscription:subscription.status.canceled'), { exact: true }).first(),
      ).toBeVisible();
      await expect(page.getByText(say('subscription:next.ended'))).toBeVisible();
      await customer.looksRight();
    });
  });

  test('an administrator finds the subscription of a customer in the console, and refunds there', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const owner = await Owner.of(browser);
    await customer.subscribe('invoice-desk');
    const { id } = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), `Console, ${locale}`);
    await owner.advance(clock, { by: 'next_invoice' });
    const admin = new Customer(await owner.page(page, { locale }), locale);
    await admin.page.goto(`/customer/subscription/${id}`);
    await expect(admin.page).toHaveURL(new RegExp(`/console/subscriptions/${id}`));
    await expect(admin.page.getByRole('region', { name: say('admin:title') })).toBeVisible();
    await expect(admin.button('admin:refund.open')).toBeVisible(SETTLED);
    await admin.looksRight();
    await admin.button('admin:refund.open').click();
    await admin.looksRight();
    await admin.page.locator('#refund_amount').fill('1');
    await admin.button('admin:refund.actionFor', { amount: '1 SKT' }).click();
    await expect(admin.page.locator('#announcer')).toHaveText(say('admin:refund.done'), SETTLED);
    await admin.button('admin:admin.pause').click();
    await admin.page
      .getByRole('dialog')
      .getByRole('button', { name: say('admin:admin.pause') })
      .click();
    await expect(admin.page.getByText(say('admin:done.pause'))).toBeVisible(SETTLED);
    await admin.looksRight();
    await page.reload();
    await expect(page.getByText(say('subscription:next.paused'))).toBeVisible();
  });
});
