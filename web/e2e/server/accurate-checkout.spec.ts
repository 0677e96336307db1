import { expect, test } from '@playwright/test';
import type { Customer as Account, App, AppDetail, InvoiceDetail, Page as List, Price } from '../../src/api/types';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { emailsAbout } from './emails';
import { Owner } from './owner';

/** Amounts, trials, payees and countries on the pages of a real server. */

const PLAN_APP = 'invoice-desk';
/** An app that requires neither an address nor a phone number. */
const APP_WITHOUT_ADDRESS = 'hushwave';

async function paidApps(customer: Customer): Promise<App[]> {
  const { list } = await customer.get<List<App>>('/api/apps', { price: 'paid', pageSize: '50', sort: 'name' });
  // This app has limited stock, which repeated tests would use up.
  return list.filter((app) => app.title.en !== 'Compound Garden');
}

forEachDisplay(({ locale }) => {
  test('headline, button and receipt show the same amount with deposit; the trial is available once', async ({
    page,
  }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const app: AppDetail = await customer.open(PLAN_APP, 'plan');
    const name = app.plans[0]?.name[locale] ?? '';
    await expect(
      page.getByRole('heading', { level: 1, name: translate('checkout:headline.try', { name }) }),
    ).toBeVisible();
    await expect(page.getByTestId('total')).toContainText('1 SKT');
    await expect(page.getByText(translate('checkout:order.depositOnly', { amount: '1 SKT' }))).toBeVisible();
    await expect(page.getByText(translate('checkout:totals.depositReturn', { count: 14 }))).toBeVisible();
    await expect(page.getByTestId('due')).toHaveText('1 SKT');
    await expect(customer.pay).toHaveText(translate('checkout:form.startTrialDeposit', { amount: '1 SKT' }));
    await customer.expectValidPage();
    await customer.pay.click();
    // The new wallet account is funded automatically.
    const approved = await customer.approve();
    expect(approved.some((text) => translate('sandbox:acceptDeposit', { amount: '1 SKT' }).test(text))).toBe(true);
    await expect(page.getByRole('heading', { level: 1, name: translate('completed:trial') })).toBeVisible(SETTLED);
    await expect(page.locator('.checkout-total')).toHaveText('1 SKT');
    await expect(page.getByText(translate('completed:depositOnly', { count: 14 }))).toBeVisible();
    await customer.expectValidPage();

    // The app's page links to the subscription; a second checkout shows the used trial.
    const subscription = await customer.subscription();
    await page.goto(`/apps/${app.did}`);
    const manage = page.getByRole('link', { name: translate('plans:plans.manageOf', { name }) });
    await expect(manage).toHaveAttribute('href', new RegExp(`/customer/subscription/${subscription.id}$`));
    await customer.expectValidPage();
    await page.goto(`/checkout/pay/${app.plans[0]?.payment_link_id}`);
    await expect(page.getByText(translate('checkout:buyer.trialUsed'))).toBeVisible();
    await expect(page.getByText(translate('checkout:buyer.subscribed', { name }))).toBeVisible();
    await expect(
      page.getByRole('heading', { level: 1, name: translate('checkout:headline.subscribe', { name }) }),
    ).toBeVisible();
    await expect(page.getByTestId('total')).toContainText('4 SKT');
    await expect(customer.pay).toHaveText(translate('checkout:form.subscribe', { amount: '4 SKT' }));
    await customer.expectValidPage();
    await page.getByRole('link', { name: translate('checkout:buyer.manage') }).click();
    await expect(page).toHaveURL(new RegExp(`/customer/subscription/${subscription.id}`));
  });

  test('a payment with a deposit is completed and receipted in total', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    await customer.subscribe(PLAN_APP);
    const trial = await customer.subscription();

    await test.step('without the trial, payment and deposit are due together', async () => {
      const { list } = await customer.get<List<AppDetail>>('/api/apps', { keyword: PLAN_APP });
      const app = await customer.get<AppDetail>(`/api/apps/${list.find(({ name }) => name === PLAN_APP)?.did}`);
      await page.goto(`/checkout/pay/${app.plans[0]?.payment_link_id}`);
      await expect(page.getByTestId('due')).toHaveText('4 SKT');
      await customer.pay.click();
      await customer.approve();
      const heading = page.getByRole('heading', { level: 1, name: translate('completed:subscribed') });
      await expect(heading).toBeFocused(SETTLED);
      await expect(page.getByRole('dialog')).toHaveCount(0);
      await expect(page.locator('.checkout-total')).toHaveText('4 SKT');
      await expect(
        page.getByText(translate('completed:depositIncluded', { amount: '1 SKT', count: 14 })),
      ).toBeVisible();
      await expect(page.getByText(translate('completed:receipt'))).toBeVisible();
      await customer.expectValidPage();
    });

    await test.step('the receipt names the total with the deposit and its return', async () => {
      const { id } = await customer.subscription();
      expect(id).not.toBe(trial.id);
      const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: id });
      const paid = list.find(({ total }) => total !== '0');
      await expect
        .poll(async () => (await emailsAbout(paid?.id ?? 'no invoice')).length, SETTLED)
        .toBeGreaterThanOrEqual(1);
      const [receipt] = await emailsAbout(paid?.id ?? '');
      // The first line says that it is test mode, the third one greets.
      const [, headline, , sentence] = (receipt?.text ?? '').split('\n').filter((line) => line.trim());
      expect(headline).toContain('4 SKT');
      expect(sentence).toContain('4 SKT');
      expect(receipt?.text).toMatch({ en: /14 days after the subscription ends/, zh: /14 天/ }[locale]);
      expect(receipt?.text).toContain('1 SKT');
    });
  });

  test('the app page does not offer a used trial again', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    await customer.subscribe(PLAN_APP);
    await customer.button('subscription:action.cancelSubscription').click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: translate('subscription:cancel.nowAction') })
      .click();
    await expect(page.getByText(translate('subscription:cancel.doneNow'))).toBeVisible(SETTLED);
    const { list } = await customer.get<List<AppDetail>>('/api/apps', { keyword: PLAN_APP });
    await page.goto(`/apps/${list.find(({ name }) => name === PLAN_APP)?.did}`);
    const plans = page.getByRole('region', { name: translate('plans:plans.title') });
    await expect(plans.getByRole('link', { name: translate('plans:plans.subscribeTo') })).toBeVisible();
    await expect(plans.getByRole('link', { name: translate('plans:plans.tryOf') })).toHaveCount(0);
    await customer.expectValidPage();
  });

  test('buying an owned app again requires confirmation, and no country is invented', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const app = await customer.open(APP_WITHOUT_ADDRESS, 'app');
    const name = app.title[locale];
    await expect(
      page.getByRole('heading', { level: 1, name: translate('checkout:headline.buy', { name }) }),
    ).toBeVisible();
    await page.getByRole('radio', { name: /USD/ }).check({ force: true });
    await expect(page.locator('[id="billing_address.postal_code"]')).toBeVisible();
    await expect(page.locator('[id="billing_address.country"]')).toHaveCount(0);
    await page.locator('[id="billing_address.postal_code"]').fill('94103');
    await customer.expectValidPage();
    await customer.pay.click();
    await customer.fillCard('4242 4242 4242 4242');
    await customer.submitCard();
    await expect(page.getByRole('heading', { level: 1, name: translate('completed:title') })).toBeVisible(SETTLED);
    const me = await customer.get<Account>('/api/customers/me');
    expect(me.address?.country ?? '', 'no country was entered').toBe('');
    await page.getByRole('link', { name: translate('completed:invoice') }).click();
    await expect(page.getByText('94103')).toBeVisible();
    await expect(page.getByRole('main')).not.toContainText(/United States|美国/);

    await page.goto(`/checkout/pay/${app.payment_link_id}`);
    await customer.pay.click();
    const confirmation = page.getByRole('dialog', { name: translate('checkout:buyer.owned', { name }) });
    await expect(confirmation).toBeVisible();
    await customer.expectValidPage();
    await confirmation.getByRole('button', { name: translate('common:action.cancel') }).click();
    await expect(customer.pay).toBeEnabled();
    await customer.pay.click();
    await confirmation.getByRole('button', { name: translate('checkout:buyer.buyAgain') }).click();
    await expect(page.getByRole('dialog', { name: /./ }).first()).toBeVisible();
    await expect(confirmation).toHaveCount(0);
  });

  test('the headline counts several items with localized names, and the store is the payee', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
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
    const headline = { en: 'Buy Brush and 2 more items', zh: '购买画笔等 3 件商品' }[locale];
    await expect(page.getByRole('heading', { level: 1, name: headline })).toBeVisible();
    await expect(page).toHaveTitle(`${headline} · 1.5 SKT`);
    await expect(page.getByText({ en: 'Paper', zh: '画纸' }[locale], { exact: true })).toHaveCount(1);
    await customer.signInIfNeeded();
    await customer.pay.click();
    await customer.approve();
    await expect(page.getByRole('heading', { level: 1, name: translate('completed:title') })).toBeVisible(SETTLED);
    await expect(page.getByText(translate('completed:message', { payee: 'Souk' }))).toBeVisible();
    await expect(page.getByText('PAPER LTD')).toHaveCount(0);
    await customer.expectValidPage();

    const names = { en: ['Brush', 'Paper', 'Ink'], zh: ['画笔', '画纸', '墨水'] }[locale];
    const otherNames = /Brush|Paper|Ink|画笔|画纸|墨水/g;
    await page.getByRole('link', { name: translate('completed:invoice') }).click();
    for (const name of names) await expect(page.getByRole('main').getByText(name)).toBeVisible();
    await customer.expectValidPage();
    const invoice = page.url().split('/').pop() ?? '';
    await expect
      .poll(async () => {
        const [receipt] = await emailsAbout(invoice);
        return [...new Set(receipt?.text?.match(otherNames))].sort();
      }, SETTLED)
      .toEqual([...names].sort());
    await page.goto('/customer');
    const bought = { en: 'Brush and 2 more', zh: '画笔等 3 件商品' }[locale];
    await expect(page.getByRole('main').getByText(bought).first()).toBeVisible();
  });

  test('a new sandbox account is funded automatically, and an emptied one stays empty', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    await page.goto('/sandbox/wallet');
    await page.getByRole('button', { name: translate('sandbox:createFirst') }).click();
    await expect(page.getByTestId('balance')).toHaveText(/SKT$/);
    await customer.emptyWallet();
    await page.reload();
    await expect(page.getByTestId('balance')).toHaveText(translate('sandbox:balanceNone'));
  });

  test('a declined request is translated by its code', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const [first] = await paidApps(customer);
    await customer.open(first?.name ?? '', 'app');
    await customer.pay.click();
    const [wallet] = await Promise.all([page.waitForEvent('popup'), customer.button('connect:sandbox').click()]);
    await wallet.getByRole('button', { name: translate('sandbox:decline') }).click();
    await expect(page.getByRole('alert')).toContainText(
      { en: 'You declined the request in your wallet. Nothing has changed.', zh: '你已在钱包中拒绝，未作任何更改。' }[
        locale
      ],
    );
  });
});
