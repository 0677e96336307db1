import { expect, test } from '@playwright/test';
import { Customer, forEachDisplay, SETTLED } from './customer';
import { emailsAbout } from './emails';

/** The link that confirms an address, because test mode sends emails to confirmed addresses only. */

forEachDisplay(({ locale }) => {
  test('a customer confirms an address by the link in the only email to it', async ({ page }) => {
    const customer = new Customer(page, locale);
    const { translate } = customer;
    const email = `confirming-${locale}@shop.example`;
    await customer.open('hushwave', 'app');
    await page.locator('#customer_email').fill(email);
    await customer.pay.click();
    await customer.approve();
    await expect(page.getByText(translate('completed:testMail.noServer'))).toBeVisible(SETTLED);
    await customer.expectValidPage();
    const path = `/api/customers/me/email-confirmation?livemode=false&locale=${locale}`;
    const headers = { origin: new URL(page.url()).origin };
    const requested = await page.request.post(path, { headers });
    expect(await requested.json()).toEqual({ email, confirmed: false, requested: true });
    const links = async () => {
      const mails = (await emailsAbout('/confirm-email?token=')).filter(({ to }) => to?.[0]?.address === email);
      return mails.map(({ text }) => /https?:\S+confirm-email\?token=\S+/.exec(text ?? '')?.[0] ?? '');
    };
    await expect.poll(async () => (await links()).length, SETTLED).toBe(1);
    const [link = ''] = await links();
    await page.goto(link);
    await expect(page.getByRole('heading', { level: 1, name: translate('portal:confirmEmail.title') })).toBeVisible();
    await customer.expectValidPage();
    await customer.button('portal:confirmEmail.action').click();
    await expect(page.getByText(translate('portal:confirmEmail.doneText', { email }))).toBeVisible(SETTLED);
    expect(await (await page.request.get(path)).json()).toEqual({ email, confirmed: true, requested: false });
    await page.goto(link);
    await customer.button('portal:confirmEmail.action').click();
    await expect(page.getByText(translate('error-messages:error.CONFIRMATION_LINK_INVALID'))).toBeVisible(SETTLED);
  });
});
