import { expect, test } from '@playwright/test';
import type { InvoiceDetail, Page as List } from '../../src/api/types';
import { Customer, inLooks, SETTLED } from './customer';
import { Owner } from './owner';

inLooks(({ locale, scheme }) => {
  test('a deposit pays a renewal that the wallet cannot, with its fee, after the grace period', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const owner = await Owner.of(browser);
    const status = (name: string) =>
      page.getByText(say(`subscription:subscription.status.${name}`), { exact: true }).first();
    await customer.subscribe('invoice-desk');
    const { id, customer_id: customerId } = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), `Overdraft, ${locale}`);
    await owner.advance(clock, { by: 'next_invoice' });
    const dialog = page.getByRole('dialog', { name: say('subscription:overdraft.title') });
    const openDialog = async () => {
      await page.goto(`/customer/subscription/${id}`);
      await customer.button('subscription:action.overdraft').click();
    };

    await test.step('the customer turns the protection on, with a deposit of one cycle and its fee', async () => {
      await openDialog();
      await expect(dialog.getByText(say('subscription:overdraft.required', { amount: '3.15 SKT' }))).toBeVisible();
      await customer.looksRight();
      await dialog.getByRole('button', { name: say('subscription:overdraft.on') }).click();
      const deposit = say('sandbox:acceptDeposit', { amount: '3.15 SKT' });
      expect(await customer.agree()).toEqual([expect.stringMatching(deposit)]);
      await expect(page.getByText(say('subscription:overdraft.done'))).toBeVisible(SETTLED);
      const isOn = async () =>
        (await customer.get<{ sufficient: boolean }>(`/api/subscriptions/${id}/overdraft-protection`)).sufficient;
      await expect.poll(isOn, SETTLED).toBe(true);
      await openDialog();
      await expect(dialog.getByText(say('subscription:overdraft.held', { amount: '3.15 SKT' }))).toBeVisible();
      await customer.looksRight();
    });

    await test.step('the owner sees the deposit', async () => {
      const admin = new Customer(await owner.page(page, { locale, scheme }), locale);
      await admin.page.goto('/console/stakes');
      await expect(admin.page.getByText(say('console:stakes.purpose.overdraft')).first()).toBeVisible();
      await admin.looksRight();
      await admin.page.close();
    });

    await test.step('a renewal that cannot be charged is past due, and nothing is taken within the grace period', async () => {
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
      await customer.looksRight();
      const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: id });
      const paid = list.map(({ billing_reason, status: state, total }) => [billing_reason, state, total]);
      expect(paid).toContainEqual(['subscription_cycle', 'paid', '3000000000000000000']);
      expect(paid).toContainEqual(['overdraft_protection', 'paid', '150000000000000000']);
      const { list: stakes } = await owner.get<List<{ purpose: string; status: string }>>('/api/stakes', {
        customer_id: customerId,
      });
      expect(stakes.find(({ purpose }) => purpose === 'overdraft')?.status).toBe('final');
      // The deposit is used up: the protection is off until the customer leaves another one.
      await openDialog();
      await expect(dialog.getByRole('button', { name: say('subscription:overdraft.on') })).toBeVisible();
      await customer.looksRight();
    });
  });
});
