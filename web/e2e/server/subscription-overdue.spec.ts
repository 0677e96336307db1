import { expect, test } from '@playwright/test';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { type Clock, Owner } from './owner';

const pathPattern = (path: string) => new RegExp(`${path}($|\\?)`);

forEachDisplay(({ locale, scheme }) => {
  test('a trial renews, becomes past due, blocks a purchase, is paid, and allows a fast payment', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    const status = (name: string) =>
      page.getByText(translate(`subscription:subscription.status.${name}`), { exact: true }).first();

    await test.step('the trial is started by wallet', async () => {
      await customer.open('invoice-desk', 'plan');
      await expect(customer.pay).toHaveText(translate('checkout:form.startTrialDeposit', { amount: '1 SKT' }));
      await customer.expectValidPage();
      await customer.pay.click();
      const allow = translate('sandbox:acceptDelegate');
      const deposit = translate('sandbox:acceptDeposit', { amount: '1 SKT' });
      const approved = await customer.approve();
      expect(approved).toEqual([expect.stringMatching(allow), expect.stringMatching(deposit)]);
      await expect(page.getByRole('heading', { level: 1, name: translate('completed:trial') })).toBeVisible(SETTLED);
      await customer.expectValidPage();
      await page.getByRole('link', { name: translate('completed:subscription') }).click();
      await expect(page).toHaveURL(pathPattern('/customer/subscription/sub_\\w+'));
      await expect(status('trialing')).toBeVisible();
      await customer.expectValidPage();
    });
    const { id } = await customer.subscription();
    const detail = `/customer/subscription/${id}`;

    const admin = new Customer(await owner.page(page, { locale, scheme }), locale);
    const clock = await test.step('the owner adds a test clock for the customer, by DID', async () => {
      const did = await customer.did();
      await admin.page.goto('/console/test-clocks');
      await admin.page.locator('#clock_customer').fill(did);
      await admin.page.locator('#clock_name').fill(`Trial and debt, ${locale}`);
      await admin.button('console:clocks.startAction').click();
      await expect(admin.page).toHaveURL(/id=clock_/);
      await expect(admin.page.getByText(did)).toBeVisible();
      await admin.expectValidPage();
      const id = new URL(admin.page.url()).searchParams.get('id') ?? '';
      return owner.get<Clock>(`/api/test-clocks/${id}`);
    });

    await test.step('the clock advances past the trial and three renewals', async () => {
      for (let renewal = 0; renewal < 3; renewal += 1) await owner.advance(clock, { by: 'next_invoice' });
      await admin.page.reload();
      await admin.button('console:clocks.by.next_invoice').click();
      const activity = admin.page
        .getByRole('region', { name: translate('console:clocks.activity') })
        .getByRole('listitem');
      // Each row shows the time, the event and its subject.
      const renewed = new RegExp(translate('console:activity.renewed').source.slice(1, -1));
      await expect(activity.filter({ hasText: renewed })).toHaveCount(3, SETTLED);
      await expect(admin.button('console:clocks.by.next_invoice')).toBeVisible(SETTLED);
      await admin.expectValidPage();
      const { timeline } = await owner.get<typeof clock>(`/api/test-clocks/${clock.id}`);
      const paidFor = ['trial_ended', 'renewed', 'renewed', 'renewed'].flatMap((what) => [what, 'paid']);
      expect(timeline.map(({ what }) => what)).toEqual(paidFor);
      await page.reload();
      await expect(status('active')).toBeVisible();
      await customer.expectValidPage();
      const { list } = await customer.get<{ list: { total: string; status: string }[] }>('/api/invoices', {
        subscription_id: id,
        ignore_zero: 'true',
      });
      expect(list.map(({ total, status: state }) => [total, state])).toEqual(
        Array.from({ length: 4 }, () => ['3000000000000000000', 'paid']),
      );
    });

    await test.step('an empty wallet makes the subscription past due', async () => {
      await customer.emptyWallet();
      const { timeline } = await owner.advance(clock, { by: 'next_invoice' });
      expect(timeline.slice(8).map(({ what }) => what)).toEqual(['renewed', 'payment_declined', 'past_due']);
      await page.reload();
      await expect(status('past_due')).toBeVisible();
      await customer.expectValidPage();
      await page.goto('/customer');
      await expect(page.getByText(translate('subscription:summary.pastDue', { amount: '3 SKT' }))).toBeVisible();
      await customer.expectValidPage();
    });

    await test.step('a new purchase is blocked and links to the overdue page', async () => {
      await customer.open('hushwave', 'app');
      await customer.pay.click();
      const dialog = page.getByRole('dialog', { name: translate('extras:overdue.title') });
      await expect(dialog).toBeVisible(SETTLED);
      await expect(dialog.getByText('3 SKT', { exact: true })).toBeVisible();
      await customer.expectValidPage();
      await dialog.getByRole('link', { name: translate('extras:overdue.all') }).click();
      await expect(page).toHaveURL(pathPattern('/customer/invoice/past-due'));
    });

    await test.step('the overdue balance is paid by wallet, and the page links back', async () => {
      await expect(
        page.getByRole('heading', { level: 1, name: translate('subscription:overdue.title') }),
      ).toBeVisible();
      await customer.expectValidPage();
      await customer.button('subscription:pay.amount', { amount: '3 SKT' }).click();
      expect(await customer.approve()).toEqual([
        expect.stringMatching(translate('sandbox:acceptPay', { amount: '3 SKT' })),
      ]);
      await expect(page.getByRole('heading', { level: 1, name: translate('subscription:overdue.none') })).toBeVisible(
        SETTLED,
      );
      await customer.expectValidPage();
      await page.getByRole('link', { name: translate('subscription:overdue.goOn') }).click();
      await expect(page).toHaveURL(/\/checkout\/pay\/cs_/);
    });

    await test.step('the purchase completes without opening the wallet', async () => {
      await customer.pay.click();
      const dialog = page.getByRole('dialog', { name: translate('extras:fast.title') });
      await expect(dialog).toBeVisible(SETTLED);
      await customer.expectValidPage();
      await dialog.getByRole('button', { name: translate('extras:fast.confirm', { amount: '2 SKT' }) }).click();
      await expect(page.getByRole('heading', { level: 1, name: translate('completed:title') })).toBeVisible(SETTLED);
      await customer.expectValidPage();
      await page.goto(detail);
      await expect(status('active')).toBeVisible();
      await customer.expectValidPage();
    });
  });
});
