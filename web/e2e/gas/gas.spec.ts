import { expect, type Page, test } from '@playwright/test';
import type { InvoiceDetail, Page as List, PaymentMethodCheck, Price, Refund } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import { applyDisplaySettings, displaySettings } from '../fixtures/display-settings';
import { Customer, SETTLED } from '../server/customer';
import { Owner } from '../server/owner';
import { openWallet } from '../server/wallet';

/** A store at a network that charges gas: before and after it has staked for gas. */

const METHOD = 'pm_sandbox_1_wallet';
const METHOD_PAGE = `/console/payment-methods/${METHOD}`;
const widths = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
type Key = Parameters<Customer['translate']>[0];

/** The method page shows these texts in both languages and widths. */
async function expectMethodPage(owner: Owner, reference: Page, keys: Key[], isExpected: (admin: Customer) => unknown) {
  for (const display of displaySettings) {
    const admin = new Customer(await owner.page(reference, display), display.locale);
    for (const width of ['desktop', 'phone'] as const) {
      await admin.page.setViewportSize(widths[width]);
      await admin.page.goto('/console/payment-methods');
      await admin.page.getByRole('table').locator(`a[href$="${METHOD}"]`).click();
      for (const key of keys) await expect(admin.page.getByText(admin.translate(key)).first()).toBeVisible(SETTLED);
      await isExpected(admin);
      await admin.expectValidPage();
    }
    await admin.page.close();
  }
}

/** The tokens in the customer's wallet. */
async function tokensOf({ page }: Customer): Promise<number> {
  const wallet = await page.context().newPage();
  await wallet.goto('/sandbox/wallet');
  const balance = wallet.getByTestId('balance');
  await expect(balance).toHaveText(/^[\d,.]+ SKT$/);
  const tokens = Number((await balance.innerText()).replace(/[^\d.]/g, ''));
  await wallet.close();
  return tokens;
}

/** Buys an app for 2 SKT, and returns the gas that the customer paid. */
async function gasOfPurchase(customer: Customer): Promise<number> {
  const before = await tokensOf(customer);
  await customer.open('hushwave', 'app');
  await expect(customer.page.getByTestId('total')).toContainText('2 SKT');
  await customer.pay.click();
  await customer.approve();
  await expectPaid(customer);
  return before - 2 - (await tokensOf(customer));
}

async function expectPaid({ page, translate }: Customer): Promise<void> {
  await expect(page.getByRole('heading', { level: 1, name: translate('completed:title') })).toBeVisible(SETTLED);
}

test('a store sells before and after it has staked for gas', async ({ page, browser }) => {
  test.setTimeout(240_000);
  await applyDisplaySettings(page);
  const customer = new Customer(page, 'en');
  const { translate } = customer;
  const owner = await Owner.of(browser);
  const admin = new Customer(await owner.page(page, { locale: 'en' }), 'en');
  const { prices } = await owner.post<{ prices: Price[] }>('/api/products', {
    name: 'Lantern',
    prices: [{ type: 'one_time', unit_amount: '1000' }],
  });
  const { id: session } = await owner.post<{ id: string }>('/api/checkout-sessions', {
    line_items: [{ price_id: prices[0]?.id, quantity: 1 }],
  });
  let invoice = '';
  const invoiceRow = (reason: Key) => page.getByRole('row').filter({ has: page.getByText(translate(reason)) });

  await test.step('without a stake, a wallet that holds exactly the price is told what it lacks', async () => {
    await page.goto(`/checkout/pay/${session}`);
    await customer.signInIfNeeded();
    expect(await tokensOf(customer)).toBe(1000);
    await customer.pay.click();
    const wallet = await openWallet(page, translate);
    await wallet.getByRole('button', { name: translate('sandbox:acceptPay', { amount: '1,000 SKT' }) }).click();
    const reason = translate('error-messages:code.gas');
    await expect(wallet.getByRole('alert').getByText(reason)).toBeVisible(SETTLED);
    await expectAccessible(wallet);
    await wallet.close();
    await expect(page.getByRole('alert').getByText(reason)).toBeVisible(SETTLED);
    await expectAccessible(page);
    expect(await tokensOf(customer)).toBe(1000);
  });

  await test.step('without a stake, a customer pays the gas in addition to the price', async () => {
    expect(await gasOfPurchase(customer)).toBeGreaterThan(0.001);
    const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices');
    invoice = list.find(({ status, total }) => status === 'paid' && total !== '0')?.id ?? '';
  });

  await test.step('without a stake, a refund of everything the store has fails and says why', async () => {
    await admin.page.goto(`/console/invoices/${invoice}`);
    await admin.button('admin:refund.open').click();
    await admin.button('admin:refund.actionFor', { amount: '2 SKT' }).click();
    const read = async () => (await owner.get<List<Refund>>('/api/refunds', { invoice_id: invoice })).list[0];
    await expect.poll(async () => (await read())?.failure?.code, SETTLED).toBe('INSUFFICIENT_GAS');
    await admin.page.reload();
    await expect(admin.page.getByText(translate('admin:failedRefund.code.gas'))).toBeVisible(SETTLED);
    await admin.expectValidPage();
    await page.goto(`/customer/invoice/${invoice}`);
    await expect(page.getByText(translate('subscription:refund.failedText'))).toBeVisible();
    await expectAccessible(page);
  });

  await test.step('the method page says what is missing', async () => {
    await expectMethodPage(owner, page, ['console:gas.lacks_funds', 'console:gas.why'], async ({ page, ...admin }) => {
      await expect(page.getByText(admin.translate('console:gas.send', { amount: '30 SKT' }))).toBeVisible();
      await expect(page.getByText(admin.translate('console:gas.then', { amount: '32 SKT' }))).toBeVisible();
    });
  });

  await test.step('the owner sends the funds, and stakes for gas', async () => {
    // The language is a cookie of the owner's browser.
    await applyDisplaySettings(admin.page);
    await admin.page.goto(METHOD_PAGE);
    await expect(admin.button('console:gas.check')).toBeVisible();
    const { gas } = await owner.get<PaymentMethodCheck>(`/api/payment-methods/${METHOD}/check`);
    await expect(admin.page.getByText(gas?.account ?? '', { exact: true })).toBeVisible();
    const funded = await page.request.post('/sandbox/arcblock/faucet', { data: { address: gas?.account } });
    expect(funded.ok()).toBe(true);
    await admin.button('console:gas.check').click();
    const stake = admin.button('console:gas.stake', { amount: '32 SKT' });
    await expect(stake).toBeVisible(SETTLED);
    await expectMethodPage(owner, page, ['console:gas.ready_to_stake', 'console:gas.how'], () => undefined);
    await stake.click();
    await expect(admin.page.getByText(translate('console:gas.stakedText'))).toBeVisible(SETTLED);
    await expect(admin.page.locator('#announcer')).toHaveText(translate('console:gas.staked'));
    await expectMethodPage(owner, page, ['console:gas.staked', 'console:gas.stakedText'], () => undefined);
  });

  await test.step('the refund is sent automatically', async () => {
    await expect(async () => {
      await page.goto(`/customer/invoice/${invoice}`);
      const refunds = page.getByRole('region', { name: translate('portal:invoice.refunds') });
      await expect(refunds.getByText(translate('subscription:refund.status.succeeded'))).toBeVisible({
        timeout: 2_000,
      });
    }).toPass(SETTLED);
  });

  await test.step('the refused payment succeeds, and nobody pays gas', async () => {
    await customer.fillWallet();
    const before = await tokensOf(customer);
    await page.goto(`/checkout/pay/${session}`);
    await customer.pay.click();
    await customer.approve();
    await expectPaid(customer);
    expect(before - (await tokensOf(customer))).toBeCloseTo(1000, 6);
  });

  await test.step('a plan with a deposit starts and renews', async () => {
    const before = await tokensOf(customer);
    await customer.subscribe('invoice-desk');
    await expect(page.getByText(translate('subscription:facts.stake')).first()).toBeVisible();
    const { id } = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), 'Gas');
    await owner.advance(clock, { by: 'next_invoice' });
    await expect(async () => {
      await page.goto(`/customer/subscription/${id}`);
      const renewal = invoiceRow('portal:reason.subscription_cycle');
      await expect(renewal.getByText(translate('portal:invoice.status.paid'))).toBeVisible({ timeout: 2_000 });
    }).toPass(SETTLED);
    await expectAccessible(page);
    const [deposit, renewal] = [1, 3];
    expect(before - (await tokensOf(customer))).toBeCloseTo(deposit + renewal, 6);
  });

  await test.step('the owner cancels it and returns the deposit', async () => {
    const before = await tokensOf(customer);
    const { id } = await customer.subscription();
    await applyDisplaySettings(admin.page);
    await admin.page.goto(`/console/subscriptions/${id}`);
    await admin.button('admin:admin.cancel').click();
    const dialog = admin.page.getByRole('dialog');
    await dialog.getByRole('radio', { name: /^Now/ }).check({ force: true });
    await dialog.getByRole('button', { name: translate('admin:cancel.submit.now') }).click();
    await expect(admin.page.getByText(translate('admin:done.cancel'))).toBeVisible(SETTLED);
    await admin.button('admin:admin.returnDeposit').click();
    await dialog.getByRole('button', { name: translate('admin:admin.returnDeposit') }).click();
    await expect(admin.page.getByText(translate('admin:done.returnDeposit'))).toBeVisible(SETTLED);
    await expect(async () => {
      await admin.page.goto('/console/stakes');
      await expect(admin.page.getByText(translate('console:stakes.status.final'))).toBeVisible({ timeout: 2_000 });
    }).toPass(SETTLED);
    await admin.expectValidPage();
    await page.reload();
    await expect(invoiceRow('portal:reason.return_stake')).toBeVisible();
    expect((await tokensOf(customer)) - before).toBeCloseTo(1, 6);
  });
});
