import { expect, test } from '@playwright/test';
import type { InvoiceDetail, Page as List, PaymentIntent, Price } from '../../src/api/types';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { Owner } from './owner';

interface NewSession {
  mode: 'payment' | 'setup';
  subscription_data?: { no_stake: boolean };
}

/** The checkout path of a session that an integrator creates for one item. */
async function openSession(owner: Owner, price: Pick<Price, 'id'>, session: NewSession): Promise<string> {
  const line_items = [{ price_id: price.id, quantity: 1 }];
  const { id } = await owner.post<{ id: string }>('/api/checkout-sessions', { ...session, line_items });
  return `/checkout/pay/${id}`;
}

const SETUP: NewSession = { mode: 'setup', subscription_data: { no_stake: true } };

/** A product that costs less than a month of the plan. */
async function cheapProduct(owner: Owner, currencyId: string): Promise<Price> {
  const { prices } = await owner.post<{ prices: Price[] }>('/api/products', {
    name: 'A sticker',
    prices: [{ type: 'one_time', unit_amount: '0.5', currency_id: currencyId }],
  });
  const [price] = prices;
  if (!price) throw new Error('the product has no price');
  return price;
}

/** A monthly plan that can be paid in tokens and by card. */
async function monthly(owner: Owner): Promise<Price> {
  const { list } = await owner.get<List<Price>>('/api/prices', { pageSize: '100' });
  const plan = list.find(
    ({ recurring, billing_scheme: scheme, currency_options: options }) =>
      recurring?.interval === 'month' &&
      recurring.usage_type === 'licensed' &&
      scheme === 'per_unit' &&
      (options?.length ?? 0) > 1,
  );
  if (!plan) throw new Error('the demo has no monthly plan');
  return plan;
}

forEachDisplay(({ locale }) => {
  test('a card is set up without a charge, and pays the next renewal', async ({ page, browser }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    await page.goto(await openSession(owner, await monthly(owner), SETUP));
    await customer.signInIfNeeded();
    await page.getByRole('radio', { name: /USD/ }).check();
    await page.locator('[id="billing_address.postal_code"]').fill('94103');
    await customer.expectValidPage();
    await customer.pay.click();
    await customer.fillCard('4242 4242 4242 4242');
    await customer.expectValidPage();
    await customer.submitCard();
    await expect(page.getByRole('heading', { level: 1, name: translate('completed:setup') })).toBeVisible(SETTLED);
    await customer.expectValidPage();
    const created = await customer.subscription();
    expect([created.status, created.mandate?.last4, created.mandate?.exp_month, created.mandate?.exp_year]).toEqual([
      'active',
      '4242',
      12,
      2034,
    ]);
    expect((await customer.get<List<PaymentIntent>>('/api/payment-intents')).count, 'nothing was charged').toBe(0);

    await page.getByRole('link', { name: translate('completed:subscription') }).click();
    await expect(page).toHaveURL(/\/customer\/subscription\/sub_/);
    await expect(page.getByText('Visa •••• 4242').first()).toBeVisible();
    const clock = await owner.startClock(await customer.did(), `Set up, ${locale}`);
    await owner.advance(clock, { by: 'next_invoice' });
    await expect
      .poll(async () => {
        const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: created.id });
        return [list[0]?.paymentCurrency.symbol, list[0]?.status, list[0]?.total !== '0'];
      }, SETTLED)
      .toEqual(['USD', 'paid', true]);
    const { list: charged } = await customer.get<List<PaymentIntent>>('/api/payment-intents');
    expect(
      charged.map(({ status }) => status),
      'charged once',
    ).toEqual(['succeeded']);
  });

  test('a wallet is set up without a charge, and its delegation then enables fast payment', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    const price = await monthly(owner);
    await page.goto(await openSession(owner, price, SETUP));
    await customer.signInIfNeeded();
    await customer.expectValidPage();
    await customer.pay.click();
    await customer.approve();
    await expect(page.getByRole('heading', { level: 1, name: translate('completed:setup') })).toBeVisible(SETTLED);
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await customer.expectValidPage();
    expect((await customer.subscription()).mandate?.type).toBe('delegation');
    expect((await customer.get<List<PaymentIntent>>('/api/payment-intents')).count, 'nothing was charged').toBe(0);

    await page.goto(await openSession(owner, await cheapProduct(owner, price.currency_id), { mode: 'payment' }));
    await customer.signInIfNeeded();
    await customer.pay.click();
    const confirm = page.getByRole('dialog', { name: translate('extras:fast.title') });
    await expect(confirm).toBeVisible(SETTLED);
    await customer.expectValidPage();
    await confirm.getByRole('button', { name: translate('extras:fast.confirm') }).click();
    await expect(page.getByRole('heading', { level: 1, name: translate('completed:title') })).toBeVisible(SETTLED);
    const { list } = await customer.get<List<PaymentIntent>>('/api/payment-intents');
    expect(list.map(({ status }) => status)).toEqual(['succeeded']);
  });
});
