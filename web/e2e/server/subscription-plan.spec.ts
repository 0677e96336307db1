import { expect, test } from '@playwright/test';
import type { InvoiceDetail, Page as List } from '../../src/api/types';
import { Customer, inLooks, SETTLED } from './customer';
import { Owner } from './owner';

const DAY = 86_400;

inLooks(({ locale }) => {
  test('a plan is changed both ways, for what the preview promised, with a permission that is enough', async ({
    page,
    browser,
  }) => {
    const customer = new Customer(page, locale);
    const { say } = customer;
    const owner = await Owner.of(browser);
    await customer.subscribe('invoice-desk');
    const { id } = await customer.subscription();
    const clock = await owner.startClock(await customer.did(), `Plans, ${locale}`);
    const { now } = await owner.advance(clock, { by: 'next_invoice' });
    await owner.advance(clock, { to: now + 10 * DAY });
    await page.reload();

    /** Looks at what a change would cost, agrees, and confirms it. Answers each line and what was to be due. */
    const change = async (): Promise<{ lines: string[]; due: string }> => {
      await customer.button('subscription:action.changePlan').click();
      const choice = page.getByRole('dialog', { name: say('subscription:plan.title') });
      await expect(choice.getByRole('radio')).not.toHaveCount(0);
      await customer.looksRight();
      await customer.button('subscription:plan.preview').click();
      const dialog = page.getByRole('dialog', { name: say('subscription:plan.previewTitle') });
      await expect(dialog.getByRole('table')).toBeVisible();
      await customer.looksRight();
      const lines = await dialog.locator('tbody td.money').allInnerTexts();
      const due = await dialog.locator('[data-total="total"]').innerText();
      await dialog.getByRole('checkbox').check();
      await dialog.getByRole('button', { name: say('subscription:plan.action') }).click();
      return { lines, due };
    };

    /** The newest invoice has the charges of the preview, and asks the wallet for what the preview said. */
    const expectInvoice = async (promised: { lines: string[]; due: string }, fromBalance?: string) => {
      await expect(page.getByText(say('subscription:plan.done'))).toBeVisible(SETTLED);
      const { list } = await customer.get<List<InvoiceDetail>>('/api/invoices', { subscription_id: id });
      const [newest] = list;
      expect(newest?.billing_reason).toBe('subscription_update');
      await page.goto(`/customer/invoice/${newest?.id}`);
      await expect(page.getByText(say('portal:invoice.status.paid')).first()).toBeVisible(SETTLED);
      const charges = promised.lines.filter((line) => !line.startsWith('−'));
      const lines = await page.locator('tbody td.money').allInnerTexts();
      expect(lines.slice(0, charges.length)).toEqual(charges);
      if (fromBalance) await expect(page.locator('tfoot')).toContainText(fromBalance);
      await expect(page.locator('tfoot tr').last().locator('.money')).toHaveText(promised.due);
      await customer.looksRight();
      await page.goto(`/customer/subscription/${id}`);
      await expect(page.getByText(say('subscription:subscription.status.active'), { exact: true })).toBeVisible();
    };

    await test.step('to the year: the wallet permits more before anything is changed', async () => {
      const promised = await change();
      const unused = promised.lines.find((line) => line.startsWith('−'));
      expect(unused).toBeDefined();
      expect(await customer.agree()).toEqual([expect.stringMatching(say('sandbox:acceptDelegate'))]);
      await expectInvoice(promised, unused);
      const { items, mandate } = await customer.subscription();
      expect(items[0]?.price.recurring?.interval).toBe('year');
      expect(BigInt(mandate?.limit ?? 0)).toBeGreaterThanOrEqual(30n * 10n ** 18n);
      await customer.looksRight();
    });

    await test.step('back to the month a day later: nothing is due, and the rest is kept', async () => {
      await owner.advance(clock, { by: 'day' });
      await page.reload();
      const promised = await change();
      expect(promised.due).toBe('0 SKT');
      await expectInvoice(promised);
      const { items, next_invoice: next } = await customer.subscription();
      expect(items[0]?.price.recurring?.interval).toBe('month');
      expect(next?.amount).toBe('0');
      await customer.looksRight();
    });
  });
});
