import { expect, test } from '@playwright/test';
import type { Price } from '../../src/api/types';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { Owner } from './owner';

/** Orders that change while their page is open, on a real server. */

forEachDisplay(({ locale }) => {
  test('a total that changed in another tab is shown and confirmed before it is paid', async ({ page, browser }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    const { prices } = await owner.post<{ prices: Price[] }>('/api/products', {
      name: 'Lantern',
      prices: [{ type: 'one_time', unit_amount: '0.5' }],
    });
    const [price] = prices;
    const { id } = await owner.post<{ id: string }>('/api/checkout-sessions', {
      line_items: [{ price_id: price?.id, quantity: 1, adjustable_quantity: { enabled: true } }],
    });
    await page.goto(`/checkout/pay/${id}`);
    await customer.signInIfNeeded();
    await expect(page.getByTestId('total')).toContainText('0.5 SKT');
    await expect(customer.pay).toHaveText(translate('checkout:form.pay', { amount: '0.5 SKT' }));

    await owner.post(`/api/checkout-sessions/${id}/adjust-quantity`, { itemId: price?.id, quantity: 3 }, 'PUT');
    await customer.pay.click();
    const title = page.getByText(translate('checkout:error.totalChangedTitle'));
    const alert = page.getByRole('alert').filter({ has: title });
    await expect(alert.getByText(translate('checkout:error.totalChanged', { amount: '1.5 SKT' }))).toBeVisible();
    await expect(page.getByTestId('total')).toContainText('1.5 SKT');
    await expect(customer.pay).toHaveText(translate('checkout:form.pay', { amount: '1.5 SKT' }));
    await customer.expectValidPage();

    await customer.pay.click();
    const approved = await customer.approve();
    expect(approved.some((text) => text.includes('1.5 SKT'))).toBe(true);
    await expect(page.getByRole('heading', { level: 1, name: translate('completed:title') })).toBeVisible(SETTLED);
    await expect(alert).toHaveCount(0);
  });

  test('a replaced price stays on an open page, and a new page shows the new price', async ({ page, browser }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    const { prices } = await owner.post<{ prices: Price[] }>('/api/products', {
      name: 'Lantern',
      prices: [{ type: 'one_time', unit_amount: '0.5' }],
    });
    const { id: link } = await owner.post<{ id: string }>('/api/payment-links', {
      line_items: [{ price_id: prices[0]?.id, quantity: 1 }],
    });
    await page.goto(`/checkout/pay/${link}`);
    await customer.signInIfNeeded();
    await expect(page).toHaveURL(/cs_/);
    await expect(page.getByTestId('total')).toContainText('0.5 SKT');
    await owner.post(`/api/prices/${prices[0]?.id}/replace`, { unit_amount: '0.75' });
    await customer.pay.click();
    const approved = await customer.approve();
    expect(approved.some((text) => text.includes('0.5 SKT'))).toBe(true);
    await expect(page.getByRole('heading', { level: 1, name: translate('completed:title') })).toBeVisible(SETTLED);
    await page.goto(`/checkout/pay/${link}`);
    await expect(page.getByTestId('total')).toContainText('0.75 SKT');
  });
});
