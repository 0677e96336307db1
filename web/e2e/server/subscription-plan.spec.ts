import { expect, test } from '@playwright/test';
import type { InvoiceDetail, Page as List } from '../../src/api/types';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { Owner } from './owner';

const DAY = 86_400;

forEachDisplay(({ locale }) => {
  test('a plan changes both ways for the previewed amounts, with a sufficient mandate', async ({ page, browser }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const owner = await Owner.of(browser);
    await customer.subscribe('invoice-desk');
    const { id } = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), `Plans, ${locale}`);
    const { now } = await owner.advance(clock, { by: 'next_invoice' });
    await owner.advance(clock, { to: now + 10 * DAY });
    await page.reload();

    /** Previews a plan change and confirms it. Returns the preview's lines and the amount due. */
    const change = async (): Promise<{ lines: string[]; due: string }> => {
      await customer.button('subscription:action.changePlan').click();
      const planDialog = page.getByRole('dialog', { name: translate('subscription:plan.title') });
      await expect(planDialog.getByRole('radio')).not.toHaveCount(0);
      await customer.expectValidPage();
      await customer.button('subscription:plan.preview').click();
      const dialog = page.getByRole('dialog', { name: translate('subscription:plan.previewTitle') });
      await expect(dialog.getByRole('table')).toBeVisible();
      await customer.expectValidPage();
      const lines = await dialog.locator('tbody td.money').allInnerTexts();
      const due = await dialog.locator('[data-total="total"]').innerText();
      await dialog.getByRole('checkbox').check();
      const action = /[1-9]/.test(due) ? 'subscription:plan.payAction' : 'subscription:plan.action';
      await dialog.getByRole('button', { name: translate(action) }).click();
      return { lines, due };
    };

    /** Expects the newest invoice to match the preview. */
    const expectInvoice = async (previewed: { lines: string[]; due: string }, fromBalance?: string) => {
      await expect(page.getByText(translate('subscription:plan.done'))).toBeVisible(SETTLED);
      const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: id });
      const [newest] = list;
      expect(newest?.billing_reason).toBe('subscription_update');
      await page.goto(`/customer/invoice/${newest?.id}`);
      await expect(page.getByText(translate('portal:invoice.status.paid')).first()).toBeVisible(SETTLED);
      const charges = previewed.lines.filter((line) => !line.startsWith('−'));
      const lines = await page.locator('tbody td.money').allInnerTexts();
      expect(lines.slice(0, charges.length)).toEqual(charges);
      // The server sends codes and names; the page says them in the reader's language.
      const detail = await customer.get<InvoiceDetail>(`/api/invoices/${newest?.id}`);
      const rows = page
        .getByRole('table', { name: translate('portal:invoice.lines') })
        .locator('tbody tr.ant-table-row');
      await expect(rows).toHaveCount(detail.lines.length);
      for (const [index, line] of detail.lines.entries()) {
        const names = line.description_params;
        expect(names?.name_zh, 'products of the demo have Chinese names').toBeTruthy();
        await expect(rows.nth(index)).toContainText((locale === 'zh' ? names?.name_zh : names?.name) ?? '');
        if (locale === 'zh') await expect(rows.nth(index)).not.toContainText(line.description ?? '');
      }
      if (fromBalance) await expect(page.locator('tfoot')).toContainText(fromBalance);
      // If the account balance pays everything, its part is the last amount.
      const paid = previewed.due === '0 SKT' && fromBalance ? fromBalance : previewed.due;
      await expect(page.locator('tfoot tr').last().locator('.money')).toHaveText(paid);
      await customer.expectValidPage();
      await page.goto(`/customer/subscription/${id}`);
      await expect(page.getByText(translate('subscription:subscription.status.active'), { exact: true })).toBeVisible();
    };

    await test.step('to yearly: the wallet raises its limit before the plan changes', async () => {
      const previewed = await change();
      const unused = previewed.lines.find((line) => line.startsWith('−'));
      expect(unused).toBeDefined();
      expect(await customer.approve()).toEqual([expect.stringMatching(translate('sandbox:acceptDelegate'))]);
      await expectInvoice(previewed, unused);
      const { items, mandate } = await customer.subscription();
      expect(items[0]?.price.recurring?.interval).toBe('year');
      expect(BigInt(mandate?.limit ?? 0)).toBeGreaterThanOrEqual(30n * 10n ** 18n);
      await customer.expectValidPage();
    });

    await test.step('back to monthly a day later: nothing is due, and the rest becomes balance', async () => {
      await owner.advance(clock, { by: 'day' });
      await page.reload();
      const previewed = await change();
      expect(previewed.due).toBe('0 SKT');
      await expectInvoice(previewed, '−3 SKT');
      const { items, next_invoice: next } = await customer.subscription();
      expect(items[0]?.price.recurring?.interval).toBe('month');
      expect(next?.amount).toBe('0');
      await customer.expectValidPage();
    });
  });
});
