import { expect, test } from '@playwright/test';
import type { InvoiceDetail, Page as List } from '../../src/api/types';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { Owner } from './owner';

forEachDisplay(({ locale, scheme }) => {
  test('after the grace period, the overdraft deposit pays a failed renewal and its fee', async ({ page, browser }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    const status = (name: string) =>
      page.getByText(translate(`subscription:subscription.status.${name}`), { exact: true }).first();
    await customer.subscribe('invoice-desk');
    const { id, customer_id: customerId } = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), `Overdraft, ${locale}`);
    await owner.advance(clock, { by: 'next_invoice' });
    const dialog = page.getByRole('dialog', { name: translate('subscription:overdraft.title') });
    const openDialog = async () => {
      await page.goto(`/customer/subscription/${id}`);
      await customer.button('subscription:action.overdraft').click();
    };

    await test.step('the customer turns the protection on, with a deposit of one cycle and its fee', async () => {
      await openDialog();
      await expect(
        dialog.getByText(translate('subscription:overdraft.required', { amount: '3.15 SKT' })),
      ).toBeVisible();
      await customer.expectValidPage();
      await dialog.getByRole('button', { name: translate('subscription:overdraft.on') }).click();
      const deposit = translate('sandbox:acceptDeposit', { amount: '3.15 SKT' });
      expect(await customer.approve()).toEqual([expect.stringMatching(deposit)]);
      await customer.expectOutcome(page.getByText(translate('subscription:overdraft.done')));
      const isOn = async () =>
        (await customer.get<{ sufficient: boolean }>(`/api/subscriptions/${id}/overdraft-protection`)).sufficient;
      await expect.poll(isOn, SETTLED).toBe(true);
      await openDialog();
      await expect(dialog.getByText(translate('subscription:overdraft.held', { amount: '3.15 SKT' }))).toBeVisible();
      await customer.expectValidPage();
    });

    await test.step('the owner sees the deposit', async () => {
      const admin = new Customer(await owner.page(page, { locale, scheme }), locale);
      await admin.page.goto('/console/stakes');
      await expect(admin.page.getByText(translate('console:stakes.purpose.overdraft')).first()).toBeVisible();
      await admin.expectValidPage();
      await admin.page.close();
    });

    await test.step('a failed renewal is past due, and the deposit is untouched within the grace period', async () => {
      await customer.emptyWallet();
      await owner.advance(clock, { by: 'next_invoice' });
      await page.goto(`/customer/subscription/${id}`);
      await expect(status('past_due')).toBeVisible();
      await owner.advance(clock, { by: 'day' });
      await page.reload();
      await expect(status('past_due')).toBeVisible();
    });

    await test.step('after the grace period the deposit pays the renewal and the fee, and the subscription continues', async () => {
      for (let day = 0; day < 3; day += 1) await owner.advance(clock, { by: 'day' });
      await page.reload();
      await expect(status('active')).toBeVisible(SETTLED);
      await customer.expectValidPage();
      const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: id });
      const paid = list.map(({ billing_reason, status: state, total }) => [billing_reason, state, total]);
      expect(paid).toContainEqual(['subscription_cycle', 'paid', '3000000000000000000']);
      expect(paid).toContainEqual(['overdraft_protection', 'paid', '150000000000000000']);
      const { list: stakes } = await owner.get<List<{ purpose: string; status: string }>>('/api/stakes', {
        customer_id: customerId,
      });
      expect(stakes.find(({ purpose }) => purpose === 'overdraft')?.status).toBe('final');
      // The deposit is used up, so the protection is off until the customer leaves a new one.
      await openDialog();
      await expect(dialog.getByRole('button', { name: translate('subscription:overdraft.on') })).toBeVisible();
      await customer.expectValidPage();
    });
  });
});
