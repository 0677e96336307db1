import { expect, test } from '@playwright/test';
import { Customer, inLooks, SETTLED } from './customer';
import { type Clock, Owner } from './owner';

const page_ = (path: string) => new RegExp(`${path}($|\\?)`);

inLooks(({ locale, scheme }) => {
  test('a trial becomes paid periods, then a debt that blocks, is paid, and gives way to a fast payment', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const owner = await Owner.of(browser);
    const status = (name: string) =>
      page.getByText(say(`subscription:subscription.status.${name}`), { exact: true }).first();

    await test.step('the plan is found in the store and its trial begun by wallet', async () => {
      await customer.open('invoice-desk', 'plan');
      await expect(customer.pay).toHaveText(say('checkout:form.startTrialDeposit', { amount: '1 SKT' }));
      await customer.looksRight();
      await customer.pay.click();
      const allow = say('sandbox:acceptDelegate');
      const deposit = say('sandbox:acceptDeposit', { amount: '1 SKT' });
      const agreed = await customer.agree();
      expect(agreed).toEqual([expect.stringMatching(allow), expect.stringMatching(deposit)]);
      await expect(page.getByRole('heading', { level: 1, name: say('completed:trial') })).toBeVisible(SETTLED);
      await customer.looksRight();
      await page.getByRole('link', { name: say('completed:subscription') }).click();
      await expect(page).toHaveURL(page_('/customer/subscription/sub_\\w+'));
      await expect(status('trialing')).toBeVisible();
      await customer.looksRight();
    });
    const { id } = await customer.subscription();
    const detail = `/customer/subscription/${id}`;

    const admin = new Customer(await owner.page(page, { locale, scheme }), locale);
    const clock = await test.step('the owner puts the customer on a clock, by DID', async () => {
      const did = await customer.did();
      await admin.page.goto('/console/test-clocks');
      await admin.page.locator('#clock_customer').fill(did);
      await admin.page.locator('#clock_name').fill(`Trial and debt, ${locale}`);
      await admin.button('console:clocks.startAction').click();
      await expect(admin.page).toHaveURL(/id=clock_/);
      await expect(admin.page.getByText(did)).toBeVisible();
      await admin.looksRight();
      const id = new URL(admin.page.url()).searchParams.get('id') ?? '';
      return owner.get<Clock>(`/api/test-clocks/${id}`);
    });

    await test.step('the clock passes the end of the trial and three renewals', async () => {
      for (let round = 0; round < 3; round += 1) await owner.advance(clock, { by: 'next_invoice' });
      await admin.page.reload();
      await admin.button('console:clocks.by.next_invoice').click();
      const activity = admin.page.getByRole('region', { name: say('console:clocks.activity') }).getByRole('listitem');
      // Each event stands between its time and its subject.
      const renewed = new RegExp(say('console:activity.renewed').source.slice(1, -1));
      await expect(activity.filter({ hasText: renewed })).toHaveCount(3, SETTLED);
      await expect(admin.button('console:clocks.by.next_invoice')).toBeVisible(SETTLED);
      await admin.looksRight();
      const { timeline } = await owner.get<typeof clock>(`/api/test-clocks/${clock.id}`);
      const paidFor = ['trial_ended', 'renewed', 'renewed', 'renewed'].flatMap((what) => [what, 'paid']);
      expect(timeline.map(({ what }) => what)).toEqual(paidFor);
      await page.reload();
      await expect(status('active')).toBeVisible();
      await customer.looksRight();
      const { list } = await customer.get<{ list: { total: string; status: string }[] }>('/api/invoices', {
        subscription_id: id,
        ignore_zero: 'true',
      });
      expect(list.map(({ total, status: state }) => [total, state])).toEqual(
        Array.from({ length: 4 }, () => ['3000000000000000000', 'paid']),
      );
    });

    await test.step('an empty wallet makes it past due', async () => {
      await customer.emptyWallet();
      const { timeline } = await owner.advance(clock, { by: 'next_invoice' });
      expect(timeline.slice(8).map(({ what }) => what)).toEqual(['renewed', 'payment_refused', 'past_due']);
      await page.reload();
      await expect(status('past_due')).toBeVisible();
      await customer.looksRight();
      await page.goto('/customer');
      await expect(page.getByText(say('subscription:summary.pastDue', { amount: '3 SKT' }))).toBeVisible();
      await customer.looksRight();
    });

    await test.step('a new purchase is refused, with the way to pay', async () => {
      await customer.open('hushwave', 'app');
      await customer.pay.click();
      const dialog = page.getByRole('dialog', { name: say('extras:overdue.title') });
      await expect(dialog).toBeVisible(SETTLED);
      await expect(dialog.getByText('3 SKT', { exact: true })).toBeVisible();
      await customer.looksRight();
      await dialog.getByRole('link', { name: say('extras:overdue.all') }).click();
      await expect(page).toHaveURL(page_('/customer/invoice/past-due'));
    });

    await test.step('all that is overdue is paid by wallet, and the way leads back', async () => {
      await expect(page.getByRole('heading', { level: 1, name: say('subscription:overdue.title') })).toBeVisible();
      await customer.looksRight();
      await customer.button('subscription:pay.amount', { amount: '3 SKT' }).click();
      expect(await customer.agree()).toEqual([expect.stringMatching(say('sandbox:acceptPay', { amount: '3 SKT' }))]);
      await expect(page.getByRole('heading', { level: 1, name: say('subscription:overdue.none') })).toBeVisible(
        SETTLED,
      );
      await customer.looksRight();
      await page.getByRole('link', { name: say('subscription:overdue.goOn') }).click();
      await expect(page).toHaveURL(/\/checkout\/pay\/cs_/);
    });

    await test.step('the purchase goes through without the wallet', async () => {
      await customer.pay.click();
      const dialog = page.getByRole('dialog', { name: say('extras:fast.title') });
      await expect(dialog).toBeVisible(SETTLED);
      await customer.looksRight();
      await dialog.getByRole('button', { name: say('extras:fast.confirm', { amount: '2 SKT' }) }).click();
      await expect(page.getByRole('heading', { level: 1, name: say('completed:title') })).toBeVisible(SETTLED);
      await customer.looksRight();
      await page.goto(detail);
      await expect(status('active')).toBeVisible();
      await customer.looksRight();
    });
  });
});
