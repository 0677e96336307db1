import { expect, test } from '@playwright/test';
import type { InvoiceDetail, Page as List, PaymentIntent } from '../../src/api/types';
import { Customer, inLooks, SETTLED } from './customer';
import { Owner } from './owner';

inLooks(({ locale }) => {
  test('a subscription goes over to a card, is canceled and resumed, and a payment is refunded', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const owner = await Owner.of(browser);
    await customer.subscribe('invoice-desk');
    const { id } = await customer.subscription();
    const detail = `/customer/subscription/${id}`;
    const clock = await owner.startClock(await customer.did(), `Card, ${locale}`);
    await owner.advance(clock, { by: 'next_invoice' });
    await page.reload();

    await test.step('future invoices are paid by card', async () => {
      await customer.button('subscription:action.changePayment').click();
      const dialog = page.getByRole('dialog', { name: say('subscription:payment.title') });
      await dialog.getByRole('radio', { name: /\$2\.99/ }).check({ force: true });
      await customer.looksRight();
      await dialog.getByRole('button', { name: say('subscription:payment.toCard') }).click();
      await page.locator('#card_number').fill('4242 4242 4242 4242');
      await page.locator('#card_expiry').fill('12 / 34');
      await page.locator('#card_cvc').fill('123');
      await customer.looksRight();
      await page.getByRole('dialog').locator('button[type=submit]').click();
      await expect(page.getByText(say('subscription:payment.doneCard'))).toBeVisible(SETTLED);
      await expect(page.getByText('Visa •••• 4242').first()).toBeVisible(SETTLED);
      await customer.looksRight();
      await owner.advance(clock, { by: 'next_invoice' });
      await expect
        .poll(async () => {
          const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: id });
          return [list[0]?.total, list[0]?.paymentCurrency.symbol, list[0]?.status];
        }, SETTLED)
        .toEqual(['299', 'USD', 'paid']);
      await page.reload();
    });

    await test.step('it is cancelled for a reason, and stays until its period ends', async () => {
      await customer.button('subscription:action.cancelSubscription').click();
      const dialog = page.getByRole('dialog');
      await customer.looksRight();
      await dialog.getByRole('radio', { name: say('subscription:cancel.reason.unused') }).check({ force: true });
      await dialog.getByRole('button', { name: say('subscription:cancel.action') }).click();
      await expect(page.getByText(say('subscription:cancel.done'))).toBeVisible(SETTLED);
      await expect(page.getByText(say('subscription:subscription.status.ending'), { exact: true })).toBeVisible();
      const { cancelation_details: why, cancel_at_period_end: atEnd } = await customer.subscription();
      expect([why?.reason, why?.feedback, atEnd]).toEqual(['cancellation_requested', 'unused', true]);
      await customer.looksRight();
    });

    await test.step('it is resumed', async () => {
      await customer.button('subscription:action.resume').click();
      const dialog = page.getByRole('dialog');
      await customer.looksRight();
      await dialog.getByRole('button', { name: say('subscription:resume.action') }).click();
      await expect(page.getByText(say('subscription:resume.done'))).toBeVisible(SETTLED);
      await expect(page.getByText(say('subscription:subscription.status.active'), { exact: true })).toBeVisible();
      await customer.looksRight();
    });

    await test.step('the owner gives a payment back, and the customer sees it on its invoice', async () => {
      const { list } = await customer.get<List<PaymentIntent>>('/api/payment-intents');
      const paid = list.find(({ paymentCurrency: currency }) => currency.symbol === 'USD');
      await owner.post(`/api/payment-intents/${paid?.id}/refund`, { amount: '1.50', description: 'Half of it' }, 'PUT');
      await page.goto(`/customer/invoice/${paid?.invoice_id}`);
      const refunds = page.getByRole('region', { name: say('portal:invoice.refunds') });
      await expect(async () => {
        await page.reload();
        await expect(refunds.getByText(say('subscription:refund.status.succeeded'))).toBeVisible({ timeout: 2_000 });
      }).toPass(SETTLED);
      await expect(refunds.getByText(locale === 'zh' ? 'US$1.50' : '$1.50')).toBeVisible();
      await customer.looksRight();
    });

    await test.step('cancelled at once by the store, it has ended and says so', async () => {
      await owner.post(`/api/subscriptions/${id}/cancel`, { at: 'now', refund: 'none', staking: 'none' }, 'PUT');
      await page.goto(detail);
      await expect(
        page.getByText(say('subscription:subscription.status.canceled'), { exact: true }).first(),
      ).toBeVisible();
      await customer.looksRight();
      await page.goto('/customer');
      await expect(page.getByRole('heading', { level: 1, name: say('portal:portal.title') })).toBeVisible();
      await customer.looksRight();
    });
  });
});
