import { expect, type Page } from '@playwright/test';
import { type Translate, translatorFor } from './translate';

/** Fails with an explanation if no server is running. */
export function requireServer(): void {
  if (!process.env.SOUK_URL)
    throw new Error('This test needs a running server: start `souk serve --demo` and name its address in SOUK_URL.');
}

/** Opens the sandbox wallet from the dialog, and creates an account if there is none. */
export async function openWallet(page: Page, translate: Translate): Promise<Page> {
  const opened = page.waitForEvent('popup');
  await page.getByRole('button', { name: translate('connect:sandbox') }).click();
  const wallet = await opened;
  const create = wallet.getByRole('button', { name: translate('sandbox:createFirst') });
  await create.or(wallet.locator('#request-heading')).first().waitFor();
  if (await create.isVisible()) await create.click();
  return wallet;
}

/** Clicks the given button for each request of the wallet, and gets test tokens for payments. */
export async function respondInWallet(page: Page, buttons: RegExp[]): Promise<void> {
  const translate = translatorFor('en');
  const wallet = await openWallet(page, translate);
  for (const name of buttons) {
    await wallet.locator('#request-heading').waitFor();
    if (name.test('Pay')) await requestTokens(wallet, translate);
    await wallet.getByRole('button', { name }).click();
  }
}

/** Approves all requests until the wallet has finished. Returns the labels of the buttons. */
export async function approveInWallet(page: Page, translate: Translate): Promise<string[]> {
  const wallet = await openWallet(page, translate);
  const closed = wallet.waitForEvent('close', { timeout: 0 });
  const approve = wallet.locator('.wallet-actions .k-button-primary');
  const done = wallet.getByRole('main').getByText(translate('sandbox:done.title'));
  const approved: string[] = [];
  for (;;) {
    const next = await Promise.race([
      approve.waitFor().then(() => 'request' as const),
      done.waitFor().then(() => 'done' as const),
      closed.then(() => 'done' as const),
    ]).catch((error) => {
      if (wallet.isClosed()) return 'done' as const;
      throw error;
    });
    if (next === 'done') return approved;
    // Waits until the request and the balance have loaded.
    await expect(approve).not.toHaveAttribute('aria-busy', 'true');
    if (await wallet.getByText(translate('sandbox:balanceLow')).isVisible()) await requestTokens(wallet, translate);
    await expect(approve).toBeEnabled();
    approved.push(await approve.innerText());
    const element = await approve.elementHandle();
    await approve.click();
    await element?.waitForElementState('hidden').catch(() => undefined);
  }
}

async function requestTokens(wallet: Page, translate: Translate): Promise<void> {
  const faucet = wallet.getByRole('button', { name: translate('sandbox:faucet') });
  if (!(await faucet.isVisible())) return;
  await faucet.click();
  await expect(wallet.getByText(translate('sandbox:faucetDone')).first()).toBeVisible();
}
