import { expect, test } from '@playwright/test';
import { formatMoney } from '../../src/lib/amount';
import { expectAccessible } from '../fixtures/axe';
import { Customer, forEachDisplay, SETTLED } from './customer';

forEachDisplay(({ locale }) => {
  test('a top-up of the paying account comes from another account and has an invoice', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    await customer.subscribe('invoice-desk');
    const { id, paymentCurrency } = await customer.subscription();
    const balance = () =>
      customer.get<{ balance: string; period_amount: string }>(`/api/subscriptions/${id}/paying-balance`);
    const before = await balance();
    const added = BigInt(before.period_amount) * 3n;
    const amount = formatMoney(added.toString(), paymentCurrency, locale);

    await test.step('the wallet has another account', async () => {
      const wallet = await page.context().newPage();
      await wallet.goto('/sandbox/wallet');
      const create = wallet.getByRole('button', { name: translate('sandbox:create') });
      await create.click();
      await create.click();
      // The new account is funded; the paying account has already spent tokens.
      await expect(wallet.getByTestId('balance')).toHaveText('1,000 SKT', SETTLED);
      await expectAccessible(wallet);
      await wallet.close();
    });

    await customer.button('subscription:action.addFunds').click();
    await page.locator('input[name="periods"][value="3"]').check();
    await customer.expectValidPage();
    await customer.button('subscription:topUp.actionFor', { amount }).click();
    expect((await customer.approve()).at(-1)).toMatch(translate('sandbox:acceptPay', { amount }));
    await customer.expectOutcome(page.getByText(translate('subscription:topUp.done')));
    await expect(page.getByText(translate('subscription:description.topUp')).first()).toBeVisible(SETTLED);
    expect(BigInt((await balance()).balance)).toBe(BigInt(before.balance) + added);
    await customer.expectValidPage();
  });
});
