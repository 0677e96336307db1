import { expect, test } from '@playwright/test';
import { formatMoney } from '../../src/lib/amount';
import { expectAccessible } from '../fixtures/axe';
import { Customer, inLooks, SETTLED } from './customer';

inLooks(({ locale }) => {
  test('a top-up of the paying account comes from another account and has an invoice', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    await customer.subscribe('invoice-desk');
    const { id, paymentCurrency } = await customer.subscription();
    const balance = () => customer.get<{ balance: string; period_amount: string }>(`/api/subscriptions/${id}/funds`);
    const before = await balance();
    const more = BigInt(before.period_amount) * 3n;
    const amount = formatMoney(more.toString(), paymentCurrency, locale);

    await test.step('the wallet has another account', async () => {
      const wallet = await page.context().newPage();
      await wallet.goto('/sandbox/wallet');
      const create = wallet.getByRole('button', { name: say('sandbox:create') });
      await create.click();
      await create.click();
      // A new account is funded, and the one that pays has spent of its own.
      await expect(wallet.getByTestId('balance')).toHaveText('1,000 SKT', SETTLED);
      await expectAccessible(wallet);
      await wallet.close();
    });

    await customer.button('subscription:action.addFunds').click();
    await page.locator('input[name="funds"][value="3"]').check();
    await customer.looksRight();
    await customer.button('subscription:topUp.actionFor', { amount }).click();
    expect((await customer.agree()).at(-1)).toMatch(say('sandbox:acceptPay', { amount }));
    await expect(page.getByText(say('subscription:topUp.done'))).toBeVisible(SETTLED);
    await expect(page.getByText(say('subscription:known.recharge')).first()).toBeVisible(SETTLED);
    expect(BigInt((await balance()).balance)).toBe(BigInt(before.balance) + more);
    await customer.looksRight();
  });
});
