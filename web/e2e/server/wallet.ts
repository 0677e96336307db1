import { expect, type Page } from '@playwright/test';

/** Fails with a sentence instead of passing silently when no server was started. */
export function requireServer(): void {
  if (!process.env.SOUK_URL)
    throw new Error('This test needs a running server: start `souk serve --demo` and name its address in SOUK_URL.');
}

/** Opens the sandbox wallet from the dialog, makes an account where there is none, and answers each request in turn. */
export async function answerInWallet(page: Page, answers: RegExp[]): Promise<void> {
  const opened = page.waitForEvent('popup');
  await page.getByRole('button', { name: 'Open the sandbox wallet' }).click();
  const wallet = await opened;
  const create = wallet.getByRole('button', { name: 'Create your first account' });
  const heading = wallet.locator('#request-heading');
  await create.or(heading).first().waitFor();
  if (await create.isVisible()) await create.click();
  for (const answer of answers) {
    await heading.waitFor();
    const faucet = wallet.getByRole('button', { name: 'Get test tokens' });
    if (answer.test('Pay') && (await faucet.isVisible())) {
      await faucet.click();
      await expect(wallet.getByText('Test tokens received').first()).toBeVisible();
    }
    await wallet.getByRole('button', { name: answer }).click();
  }
}
