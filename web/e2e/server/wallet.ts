import { expect, type Page } from '@playwright/test';
import { type Say, wordsIn } from './words';

/** Fails with a sentence instead of passing silently when no server was started. */
export function requireServer(): void {
  if (!process.env.SOUK_URL)
    throw new Error('This test needs a running server: start `souk serve --demo` and name its address in SOUK_URL.');
}

/** Opens the sandbox wallet from the dialog and makes an account where there is none. */
async function openWallet(page: Page, say: Say): Promise<Page> {
  const opened = page.waitForEvent('popup');
  await page.getByRole('button', { name: say('connect:sandbox') }).click();
  const wallet = await opened;
  const create = wallet.getByRole('button', { name: say('sandbox:createFirst') });
  await create.or(wallet.locator('#request-heading')).first().waitFor();
  if (await create.isVisible()) await create.click();
  return wallet;
}

/** Answers each request of the wallet in turn, with test tokens from the faucet where it pays. */
export async function answerInWallet(page: Page, answers: RegExp[]): Promise<void> {
  const say = wordsIn('en');
  const wallet = await openWallet(page, say);
  for (const answer of answers) {
    await wallet.locator('#request-heading').waitFor();
    if (answer.test('Pay')) await fill(wallet, say);
    await wallet.getByRole('button', { name: answer }).click();
  }
}

/** Agrees to whatever is asked until the wallet is done, and answers what its buttons said. */
export async function agreeInWallet(page: Page, say: Say): Promise<string[]> {
  const wallet = await openWallet(page, say);
  const closed = wallet.waitForEvent('close', { timeout: 0 });
  const agree = wallet.locator('.wallet-actions .k-button-primary');
  const done = wallet.getByRole('main').getByText(say('sandbox:done.title'));
  const agreed: string[] = [];
  for (;;) {
    const next = await Promise.race([
      agree.waitFor().then(() => 'asked' as const),
      done.waitFor().then(() => 'done' as const),
      closed.then(() => 'done' as const),
    ]).catch((error) => {
      if (wallet.isClosed()) return 'done' as const;
      throw error;
    });
    if (next === 'done') return agreed;
    // Until it can be read what is asked, and what the account holds.
    await expect(agree).not.toHaveAttribute('aria-busy', 'true');
    if (await wallet.getByText(say('sandbox:balanceLow')).isVisible()) await fill(wallet, say);
    await expect(agree).toBeEnabled();
    agreed.push(await agree.innerText());
    const asked = await agree.elementHandle();
    await agree.click();
    await asked?.waitForElementState('hidden').catch(() => undefined);
  }
}

async function fill(wallet: Page, say: Say): Promise<void> {
  const faucet = wallet.getByRole('button', { name: say('sandbox:faucet') });
  if (!(await faucet.isVisible())) return;
  await faucet.click();
  await expect(wallet.getByText(say('sandbox:faucetDone')).first()).toBeVisible();
}
