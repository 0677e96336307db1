import { expect, test } from '@playwright/test';
import type { InvoiceDetail, Page as List, PaymentIntent } from '../../src/api/types';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { emailSubjects } from './emails';
import { Owner } from './owner';

forEachDisplay(({ locale }) => {
  test('a subscription switches to a card, is canceled and resumed, and a payment is refunded', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    await customer.subscribe('invoice-desk');
    const { id, title } = await customer.subscription();
    const name = title[locale];
    expect(name).toBe({ en: 'Invoice Desk Cloud', zh: '开单台云端版' }[locale]);
    const detail = `/customer/subscription/${id}`;
    const clock = await owner.startClock(await customer.did(), `Card, ${locale}`);
    await owner.advance(clock, { by: 'next_invoice' });
    await page.reload();

    await test.step('future invoices are paid by card', async () => {
      await customer.button('subscription:action.changePayment').click();
      const dialog = page.getByRole('dialog', { name: translate('subscription:payment.title') });
      await dialog.getByRole('radio', { name: /\$2\.99/ }).check({ force: true });
      await customer.expectValidPage();
      await dialog.getByRole('button', { name: translate('subscription:payment.toCard') }).click();
      await customer.fillCard('4242 4242 4242 4242');
      await customer.expectValidPage();
      await customer.submitCard();
      await expect(page.getByText('Visa •••• 4242').first()).toBeVisible(SETTLED);
      await customer.expectOutcome(page.getByText(translate('subscription:payment.done')));
      await customer.expectValidPage();
      await owner.advance(clock, { by: 'next_invoice' });
      await expect
        .poll(async () => {
          const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: id });
          return [list[0]?.total, list[0]?.paymentCurrency.symbol, list[0]?.status];
        }, SETTLED)
        .toEqual(['299', 'USD', 'paid']);
      await page.reload();
    });

    await test.step('it is canceled with a reason, and stays active until the period ends', async () => {
      await customer.button('subscription:action.cancelSubscription').click();
      const dialog = page.getByRole('dialog');
      await customer.expectValidPage();
      await dialog.getByRole('radio', { name: translate('subscription:cancel.reason.unused') }).check({ force: true });
      await dialog.getByRole('button', { name: translate('subscription:cancel.action') }).click();
      await customer.expectOutcome(page.getByText(translate('subscription:cancel.done')));
      await expect(page.getByText(translate('subscription:subscription.status.ending'), { exact: true })).toBeVisible();
      const { cancelation_details: details, cancel_at_period_end: atEnd } = await customer.subscription();
      expect([details?.reason, details?.feedback, atEnd]).toEqual(['cancellation_requested', 'unused', true]);
      await expect
        .poll(() => emailSubjects(id), SETTLED)
        .toContainEqual(
          expect.stringMatching(
            locale === 'zh' ? new RegExp(`你的 ${name} 订阅将于 .+ 结束$`) : `Your ${name} subscription will end on `,
          ),
        );
      await customer.expectValidPage();
    });

    await test.step('it is resumed', async () => {
      await customer.button('subscription:action.resume').click();
      const dialog = page.getByRole('dialog');
      await customer.expectValidPage();
      await dialog.getByRole('button', { name: translate('subscription:resume.action') }).click();
      await customer.expectOutcome(page.getByText(translate('subscription:resume.done')));
      await expect(page.getByText(translate('subscription:subscription.status.active'), { exact: true })).toBeVisible();
      await expect
        .poll(() => emailSubjects(id), SETTLED)
        .toContainEqual(
          expect.stringMatching(
            locale === 'zh' ? `你的 ${name} 订阅将继续$` : `Your ${name} subscription will continue$`,
          ),
        );
      await customer.expectValidPage();
    });

    await test.step('the owner refunds a payment, and the invoice shows the refund', async () => {
      const { list } = await customer.get<List<PaymentIntent>>('/api/payment-intents');
      const paid = list.find(({ paymentCurrency: currency }) => currency.symbol === 'USD');
      await owner.post(`/api/payment-intents/${paid?.id}/refund`, { amount: '1.50', description: 'Half of it' }, 'PUT');
      await page.goto(`/customer/invoice/${paid?.invoice_id}`);
      const refunds = page.getByRole('region', { name: translate('portal:invoice.refunds') });
      await expect(async () => {
        await page.reload();
        await expect(refunds.getByText(translate('subscription:refund.status.succeeded'))).toBeVisible({
          timeout: 2_000,
        });
      }).toPass(SETTLED);
      await expect(refunds.getByText(locale === 'zh' ? 'US$1.50' : '$1.50')).toBeVisible();
      await customer.expectValidPage();
    });

    await test.step('the store cancels it at once, and the page shows that it ended', async () => {
      await owner.post(`/api/subscriptions/${id}/cancel`, { at: 'now', refund: 'none', staking: 'none' }, 'PUT');
      await page.goto(detail);
      await expect(
        page.getByText(translate('subscription:subscription.status.canceled'), { exact: true }).first(),
      ).toBeVisible();
      await customer.expectValidPage();
      await page.goto('/customer');
      await expect(page.getByRole('heading', { level: 1, name: translate('portal:portal.title') })).toBeVisible();
      await customer.expectValidPage();
    });
  });
});
