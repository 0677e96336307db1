import { expect, test } from '@playwright/test';
import { formatMoney } from '../../src/lib/amount';
import { expectAccessible } from '../fixtures/axe';
import { Customer, inLooks, SETTLED } from './customer';

inLooks(({ locale }) => {
  test('funds for the account that pays come from another account, and are told by an invoice', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    await customer.subscribe('invoice-desk');
    const { id, paymentCurrency } = await customer.subscription();
    const funds = () => customer.get<{ balance: string; period_amount: string }>(`/api/subscriptions/${id}/funds`);
    const before = await funds();
    const more = BigInt(before.period_amount) * 3n;
    const amount = formatMoney(more.toString(), paymentCurrency, locale);

    await test.step('the wallet has another account', async () => {
      const wallet = await page.context().newPage();
      await wallet.goto('/sandbox/wallet');
      const create = wallet.getByRole('button', { name: say('sandbox:create') });
      await create.click();
      await create.click();
      await expect(wallet.getByTestId('balance')).toHaveText(say('sandbox:balanceNone'));
      await expectAccessible(wallet);
      await wallet.close();
    });

    await customer.button('subscription:action.addFunds').click();
    await page.locator('input[name="funds"][value="3"]').check();
    await customer.looksRight();
    await customer.button('subscription:funds.actionFor', { amount }).click();
    expect((await customer.agree()).at(-1)).toMatch(say('sandbox:acceptPay', { amount }));
    await expect(page.getByText(say('subscription:funds.done'))).toBeVisible(SETTLED);
    await expect(page.getByText(say('subscription:known.recharge')).first()).toBeVisible(SETTLED);
    expect(BigInt((await funds()).balance)).toBe(BigInt(before.balance) + more);
    await customer.looksRight();
  });
});
