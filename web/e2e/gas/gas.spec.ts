import { expect, test } from '@playwright/test';
import type { InvoiceDetail, Page as List, PaymentMethodCheck, Refund, Stake } from '../../src/api/types';
import { displaySettings } from '../fixtures/display-settings';
import { Customer, SETTLED } from '../server/customer';
import { Owner } from '../server/owner';

// The tests share one store, which stakes for gas once.
test.describe.configure({ mode: 'serial' });

const METHOD = 'pm_sandbox_1_wallet';
const DAY = 86_400;
const widths = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

/** The method page shows this text in both languages and widths. */
async function expectMethodPage(
  owner: Owner,
  reference: Customer,
  key: 'console:gas.lacks_funds' | 'console:gas.staked',
) {
  for (const display of displaySettings) {
    const page = await owner.page(reference.page, display);
    const admin = new Customer(page, display.locale);
    for (const width of ['desktop', 'phone'] as const) {
      await page.setViewportSize(widths[width]);
      await page.goto('/console/payment-methods');
      await page.getByRole('table').getByRole('link').first().click();
      await expect(page).toHaveURL(/\/console\/payment-methods\/pm_/);
      await expect(page.getByText(admin.translate(key)).first()).toBeVisible(SETTLED);
      await admin.expectValidPage();
    }
    await page.close();
  }
}

test('a store sells before and after it has staked for gas', async ({ page, browser }) => {
  test.setTimeout(240_000);
  const customer = new Customer(page, 'en');
  const { translate } = customer;
  const owner = await Owner.of(browser);
  const check = () => owner.get<PaymentMethodCheck>(`/api/payment-methods/${METHOD}/check`);
  let refund: Refund | undefined;

  await test.step('a customer buys an app and pays the gas', async () => {
    await customer.open('hushwave', 'app');
    await customer.pay.click();
    await customer.approve();
    await expect(page.getByRole('heading', { level: 1, name: translate('completed:title') })).toBeVisible(SETTLED);
  });

  await test.step('a refund of everything the store has fails for gas, and says so', async () => {
    const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices');
    const invoice = list[0]?.id ?? '';
    refund = await owner.post<Refund>('/api/refunds', { invoice_id: invoice });
    const read = async () => (await owner.get<Refund>(`/api/refunds/${refund?.id}`)).failure?.code;
    await expect.poll(read, SETTLED).toBe('INSUFFICIENT_GAS');
    const admin = await owner.page(page, { locale: 'en' });
    await admin.goto(`/console/invoices/${invoice}`);
    await expect(admin.getByText(translate('admin:failedRefund.code.gas'))).toBeVisible(SETTLED);
    await admin.close();
  });

  await test.step('the method page says what is missing, in both languages and widths', async () => {
    expect((await check()).gas?.status).toBe('lacks_funds');
    await expectMethodPage(owner, customer, 'console:gas.lacks_funds');
  });

  await test.step('the owner funds the account and stakes for gas', async () => {
    const account = (await check()).gas?.account;
    await page.request.post('/sandbox/arcblock/faucet', { data: { address: account } });
    const admin = await owner.page(page, { locale: 'en' });
    await admin.goto(`/console/payment-methods/${METHOD}`);
    await admin.getByRole('button', { name: translate('console:gas.stake', { amount: '32 SKT' }) }).click();
    await expect(admin.getByText(translate('console:gas.staked')).first()).toBeVisible(SETTLED);
    await admin.close();
    await expectMethodPage(owner, customer, 'console:gas.staked');
  });

  await test.step('the refund is sent', async () => {
    await expect
      .poll(async () => (await owner.get<Refund>(`/api/refunds/${refund?.id}`)).status, SETTLED)
      .toBe('succeeded');
  });

  await test.step('a plan with a deposit starts and renews', async () => {
    await customer.subscribe('invoice-desk');
    const clock = await owner.startClock(await customer.did(), 'Gas');
    await owner.advance(clock, { by: 'next_invoice' });
    const { id } = await customer.subscription();
    const renewals = async () => {
      const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: id });
      return list.filter(({ status, total }) => status === 'paid' && total !== '0').length;
    };
    await expect.poll(renewals, SETTLED).toBeGreaterThan(0);

    await owner.post(`/api/subscriptions/${id}/cancel`, { at: 'now', refund: 'none' }, 'PUT');
    const { now } = await owner.get<{ now: number }>(`/api/test-clocks/${clock.id}`);
    await owner.advance(clock, { to: now + 20 * DAY });
    const stakes = async () => {
      const { list } = await owner.get<List<Stake>>('/api/stakes', { subscription_id: id });
      return list.map(({ status, amount, amount_returned: returned }) => [status, returned === amount]);
    };
    await expect.poll(stakes, SETTLED).toEqual([['final', true]]);
  });
});
