import { expect, test } from '@playwright/test';
import type { Customer as Account, App, AppDetail, Page as List, Price } from '../../src/api/types';
import { Customer, inLooks, SETTLED } from './customer';
import { Owner } from './owner';

/** What the pages say about amounts, trials, payees and countries, against the real server. */

const DESK = 'invoice-desk';
/** Its seller asks for neither an address nor a phone number. */
const WITHOUT_ADDRESS = 'hushwave';

async function paidApps(customer: Customer): Promise<App[]> {
  const { list } = await customer.get<List<App>>('/api/apps', { price: 'paid', pageSize: '50', sort: 'name' });
  // One is limited to a few pieces, which tests that run again would use up.
  return list.filter((app) => app.title.en !== 'Compound Garden');
}

inLooks(({ locale }) => {
  test('one amount is named from the headline to the receipt, the deposit included; a trial is given once', async ({
    page,
  }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const app: AppDetail = await customer.open(DESK, 'plan');
    const name = app.plans[0]?.name[locale] ?? '';
    await expect(page.getByRole('heading', { level: 1, name: say('checkout:headline.try', { name }) })).toBeVisible();
    await expect(page.getByTestId('total')).toContainText('1 SKT');
    await expect(page.getByText(say('checkout:order.depositOnly', { amount: '1 SKT' }))).toBeVisible();
    await expect(page.getByText(say('extras:totals.depositReturn', { count: 14 }))).toBeVisible();
    await expect(page.getByTestId('due')).toHaveText('1 SKT');
    await expect(customer.pay).toHaveText(say('checkout:form.startTrialDeposit', { amount: '1 SKT' }));
    await customer.looksRight();
    await customer.pay.click();
    // The new account of the wallet was given its test tokens: nobody has to ask the faucet.
    const agreed = await customer.agree();
    expect(agreed.some((text) => say('sandbox:acceptDeposit', { amount: '1 SKT' }).test(text))).toBe(true);
    await expect(page.getByRole('heading', { level: 1, name: say('completed:trial') })).toBeVisible(SETTLED);
    await expect(page.locator('.checkout-total')).toHaveText('1 SKT');
    await expect(page.getByText(say('completed:depositOnly', { count: 14 }))).toBeVisible();
    await customer.looksRight();

    // The app's page leads to the subscription; its checkout says what is different the second time.
    const subscription = await customer.subscription();
    await page.goto(`/apps/${app.did}`);
    const manage = page.getByRole('link', { name: say('plans:plans.manageOf', { name }) });
    await expect(manage).toHaveAttribute('href', new RegExp(`/customer/subscription/${subscription.id}$`));
    await customer.looksRight();
    await page.goto(`/checkout/pay/${app.plans[0]?.payment_link_id}`);
    await expect(page.getByText(say('checkout:buyer.trialUsed'))).toBeVisible();
    await expect(page.getByText(say('checkout:buyer.subscribed', { name }))).toBeVisible();
    await expect(
      page.getByRole('heading', { level: 1, name: say('checkout:headline.subscribe', { name }) }),
    ).toBeVisible();
    await expect(page.getByTestId('total')).toContainText('4 SKT');
    await expect(customer.pay).toHaveText(say('checkout:form.subscribe', { amount: '4 SKT' }));
    await customer.looksRight();
    await page.getByRole('link', { name: say('checkout:buyer.manage') }).click();
    await expect(page).toHaveURL(new RegExp(`/customer/subscription/${subscription.id}`));
  });

  test('an app that one owns is bought again only after a question, and no country is made up', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const app = await customer.open(WITHOUT_ADDRESS, 'app');
    const name = app.title[locale];
    await expect(page.getByRole('heading', { level: 1, name: say('checkout:headline.buy', { name }) })).toBeVisible();
    await page.getByRole('radio', { name: /USD/ }).check({ force: true });
    await expect(page.locator('[id="billing_address.postal_code"]')).toBeVisible();
    await expect(page.locator('[id="billing_address.country"]')).toHaveCount(0);
    await page.locator('[id="billing_address.postal_code"]').fill('94103');
    await customer.looksRight();
    await customer.pay.click();
    await page.locator('#card_number').fill('4242 4242 4242 4242');
    await page.locator('#card_expiry').fill('12 / 34');
    await page.locator('#card_cvc').fill('123');
    await page.getByRole('dialog').locator('button[type=submit]').click();
    await expect(page.getByRole('heading', { level: 1, name: say('completed:title') })).toBeVisible(SETTLED);
    const me = await customer.get<Account>('/api/customers/me');
    expect(me.address?.country ?? '', 'no country was entered').toBe('');
    await page.getByRole('link', { name: say('completed:invoice') }).click();
    await expect(page.getByText('94103')).toBeVisible();
    await expect(page.getByRole('main')).not.toContainText(/United States|美国/);

    await page.goto(`/checkout/pay/${app.payment_link_id}`);
    await customer.pay.click();
    const question = page.getByRole('dialog', { name: say('checkout:buyer.owned', { name }) });
    await expect(question).toBeVisible();
    await customer.looksRight();
    await question.getByRole('button', { name: say('common:action.cancel') }).click();
    await expect(customer.pay).toBeEnabled();
    await customer.pay.click();
    await question.getByRole('button', { name: say('checkout:buyer.buyAgain') }).click();
    await expect(page.getByRole('dialog', { name: /./ }).first()).toBeVisible();
    await expect(question).toHaveCount(0);
  });

  test('several items are counted in the headline, by their names in the language of the page, and the store is paid', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const owner = await Owner.of(browser);
    const prices: Price[] = [];
    for (const [name, name_zh] of [
      ['Brush', '画笔'],
      ['Paper', '画纸'],
      ['Ink', '墨水'],
    ]) {
      const made = await owner.post<{ prices: Price[] }>('/api/products', {
        name,
        name_zh,
        statement_descriptor: 'PAPER LTD',
        prices: [{ type: 'one_time', unit_amount: '0.5' }],
      });
      prices.push(...made.prices);
    }
    const { id } = await owner.post<{ id: string }>('/api/checkout-sessions', {
      line_items: prices.map((price) => ({ price_id: price.id, quantity: 1 })),
    });
    await page.goto(`/checkout/pay/${id}`);
    const headline = { en: 'Buy Brush and 2 more items', zh: '购买 画笔 等 3 件商品' }[locale];
    await expect(page.getByRole('heading', { level: 1, name: headline })).toBeVisible();
    await expect(page).toHaveTitle(`${headline} · 1.5 SKT`);
    await expect(page.getByText({ en: 'Paper', zh: '画纸' }[locale], { exact: true })).toHaveCount(1);
    await customer.connectFirst();
    await customer.pay.click();
    await customer.agree();
    await expect(page.getByRole('heading', { level: 1, name: say('completed:title') })).toBeVisible(SETTLED);
    await expect(page.getByText(say('completed:message', { payee: 'Souk' }))).toBeVisible();
    await expect(page.getByText('PAPER LTD')).toHaveCount(0);
    await customer.looksRight();
  });

  test('a new sandbox account has test tokens without a click, and an emptied one stays empty', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    await page.goto('/sandbox/wallet');
    await page.getByRole('button', { name: say('sandbox:createFirst') }).click();
    await expect(page.getByTestId('balance')).toHaveText(/SKT$/);
    await customer.emptyWallet();
    await page.reload();
    await expect(page.getByTestId('balance')).toHaveText(say('sandbox:balanceNone'));
  });

  test('a declined request is told by its code, in the language of the page', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const [first] = await paidApps(customer);
    await customer.open(first?.name ?? '', 'app');
    await customer.pay.click();
    const [wallet] = await Promise.all([page.waitForEvent('popup'), customer.button('connect:sandbox').click()]);
    await wallet.getByRole('button', { name: say('sandbox:decline') }).click();
    await expect(page.getByRole('alert')).toContainText(
      { en: 'You declined the request in your wallet. Nothing has changed.', zh: '你已在钱包中拒绝，未作任何更改。' }[
        locale
      ],
    );
  });
});
