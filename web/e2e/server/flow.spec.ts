import { expect, test } from '@playwright/test';
import { Customer, inLooks, SETTLED } from './customer';
import { Owner } from './owner';

inLooks(({ locale }) => {
  test('a trial becomes paid periods, debts and a fast payment', async ({ page, browser }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const owner = await Owner.of(browser);
    await customer.openPlan('invoice-desk');
    await customer.looksRight();
    await page.locator('.checkout-pay button').click();
    console.log(await customer.agree());
    await expect(page.getByRole('heading', { level: 1, name: say('completed:trial') })).toBeVisible(SETTLED);
    await customer.looksRight();
    await page.getByRole('link', { name: say('completed:subscription') }).click();
    await expect(page).toHaveURL(/\/customer\/subscription\/sub_/);
    await customer.looksRight();
    const clock = await owner.startClock(await customer.did(), `Flow ${locale}`);
    console.log(await owner.advance(clock, { by: 'next_invoice' }));
    await page.reload();
    await customer.looksRight();
  });
});
