import { expect, test } from '@playwright/test';
import type { Invoice, Page as List } from '../../src/api/types';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { Owner } from './owner';

/** A card whose refunds fail a moment after they were made. */
const REFUND_FAILS = '4000 0000 0000 5126';

forEachDisplay(({ locale }) => {
  test('a list and its invoice both say that a refund failed, and never that it is refunded', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    await customer.buyByCard('hushwave', REFUND_FAILS);
    const { list } = await customer.get<List<Invoice>>('/api/invoices');
    const id = list[0]?.id ?? '';
    await owner.post('/api/refunds', { invoice_id: id, amount: '1' });
    const failed = async () => (await customer.get<Invoice>(`/api/invoices/${id}`)).amount_refund_failed;
    await expect.poll(failed, SETTLED).toBe('100');
    const expectFailed = async () => {
      const main = page.getByRole('main');
      await expect(main.getByText(translate('portal:invoice.refund.failed'), { exact: true }).first()).toBeVisible();
      await expect(main.getByText(translate('portal:invoice.refund.full'), { exact: true })).toHaveCount(0);
      await expect(main.getByText(translate('portal:invoice.refund.partial'), { exact: true })).toHaveCount(0);
      await customer.expectValidPage();
    };
    await page.goto('/customer');
    await expectFailed();
    await page.goto(`/customer/invoice/${id}`);
    await expectFailed();
  });
});
