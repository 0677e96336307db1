import { devices, expect, type Locator, type Page, test } from '@playwright/test';
import type { AppDetail, Page as List, Session, Subscription } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import { applyDisplaySettings, type DisplaySettings, displaySettings } from '../fixtures/display-settings';
import { expectStable, forgetShifts, recordLayoutShifts } from '../fixtures/layout-shift';
import { type Translate, translatorFor } from './translate';
import { approveInWallet, requireServer } from './wallet';

/** A timeout for the network, a worker and the page together. */
export const SETTLED = { timeout: 30_000 };

const { defaultBrowserType: _, deviceScaleFactor: __, ...pixel } = devices['Pixel 7'];
const widths = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { ...pixel, viewport: { width: 390, height: 844 } },
};

/** Runs each flow on a desktop and on a phone; `MATRIX=all` runs every display setting on both. */
export function forEachDisplay(flow: (display: DisplaySettings, width: keyof typeof widths) => void): void {
  const all = process.env.MATRIX === 'all';
  for (const display of displaySettings) {
    for (const width of ['desktop', 'phone'] as const) {
      if (!all && (width === 'phone') !== (display.locale === 'zh')) continue;
      test.describe(`${display.locale}, ${display.scheme}, ${width}`, () => {
        test.use({ ...widths[width], actionTimeout: 15_000 });
        test.beforeEach(async ({ page }) => {
          requireServer();
          test.setTimeout(180_000);
          await applyDisplaySettings(page, display);
          await recordLayoutShifts(page);
        });
        flow(display, width);
      });
    }
  }
}

/** The number of screenshots of this worker. */
let shots = 0;

/** A customer in a browser, in one language. */
export class Customer {
  readonly translate: Translate;

  constructor(
    readonly page: Page,
    readonly language: DisplaySettings['locale'],
  ) {
    this.translate = translatorFor(language);
  }

  async get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
    const response = await this.page.request.get(path, { params: { livemode: 'false', ...query } });
    expect(response.ok(), `${path}: ${response.status()}`).toBe(true);
    return response.json();
  }

  async did(): Promise<string> {
    return (await this.get<Session>('/api/session')).user?.did ?? '';
  }

  async subscription(): Promise<Subscription> {
    const { list } = await this.get<List<Subscription>>('/api/subscriptions');
    const [newest] = list;
    if (!newest) throw new Error('there is no subscription');
    return newest;
  }

  button(name: Parameters<Translate>[0], values?: Parameters<Translate>[1]): Locator {
    return this.page.getByRole('button', { name: this.translate(name, values) });
  }

  /** Opens the wallet from the dialog and approves all requests. */
  approve(): Promise<string[]> {
    return approveInWallet(this.page, this.translate);
  }

  /** Waits for what a network or the server decides about the customer's act. What moves with it does not count as a shift. */
  async expectOutcome(outcome: Locator): Promise<void> {
    await expect(outcome).toBeVisible(SETTLED);
    await forgetShifts(this.page);
  }

  /** Expects a page that is loaded, has not shifted, fits its width and has no accessibility violation. */
  async expectValidPage(): Promise<void> {
    await expect(this.page.locator('html')).toHaveAttribute('lang', this.language);
    await expect(this.page.locator('h1')).toHaveCount(1);
    const dialog = this.page.getByRole('dialog');
    const region = (await dialog.count()) > 0 ? dialog : this.page.locator('body');
    await expect(region.locator('[aria-busy="true"]')).toHaveCount(0);
    await expectStable(this.page);
    await expectAccessible(this.page);
    const overflow = await this.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(overflow, 'has horizontal overflow').toBeLessThanOrEqual(0);
    if (process.env.SHOTS) await this.takeScreenshot();
  }

  /** Takes a screenshot if `SHOTS` names a folder. */
  private async takeScreenshot(): Promise<void> {
    const title = test.info().titlePath.slice(1).join(' ').replace(/\W+/g, '-').slice(0, 60);
    shots += 1;
    const path = `${process.env.SHOTS}/${title}-${String(shots).padStart(2, '0')}.png`;
    await this.page.screenshot({ path, fullPage: true, scale: 'css' });
  }

  /** Opens the checkout of an app or its plan, and signs in if needed. */
  async open(name: string, target: 'plan' | 'app'): Promise<AppDetail> {
    const { list } = await this.get<List<AppDetail>>('/api/apps', { keyword: name });
    const did = list.find((app) => app.name === name)?.did;
    const app = await this.get<AppDetail>(`/api/apps/${did}`);
    await this.page.goto(`/apps/${did}`);
    await expect(this.page.getByRole('heading', { level: 1, name: app.title[this.language] })).toBeVisible();
    const plan = this.page.getByRole('region', { name: this.translate('plans:plans.title') }).getByRole('link');
    const buy = this.page.getByRole('link', { name: this.translate('store:app.buy') });
    await (target === 'plan' ? plan : buy).first().click();
    await expect(this.page).toHaveURL(/\/checkout\/pay\/cs_/);
    await this.signInIfNeeded();
    return app;
  }

  /** Signs in at the checkout if nobody is signed in. */
  async signInIfNeeded(): Promise<void> {
    await expect(this.pay).toBeVisible();
    if (!this.translate('checkout:form.connectFirst').test(await this.pay.innerText())) return;
    await this.pay.click();
    await this.approve();
    await expect(this.pay).not.toHaveText(this.translate('checkout:form.connectFirst'));
  }

  /** Fills in the form of the card dialog, without submitting it. */
  async fillCard(number: string): Promise<void> {
    await this.page.locator('#card_number').fill(number);
    await this.page.locator('#card_expiry').fill('12 / 34');
    await this.page.locator('#card_cvc').fill('123');
  }

  async submitCard(): Promise<void> {
    await this.page.getByRole('dialog').locator('button[type=submit]').click();
  }

  /** Buys an app for dollars with a card. */
  async buyByCard(name: string, number: string): Promise<void> {
    await this.open(name, 'app');
    await this.page.getByRole('radio', { name: /USD/ }).check({ force: true });
    await this.page.locator('[id="billing_address.postal_code"]').fill('94103');
    await this.pay.click();
    await this.fillCard(number);
    await this.submitCard();
    const title = this.page.getByRole('heading', { level: 1, name: this.translate('completed:title') });
    await expect(title).toBeVisible(SETTLED);
  }

  /** The submit button of the checkout. */
  get pay(): Locator {
    return this.page.locator('.checkout-pay button');
  }

  /** Subscribes to an app's plan by wallet, and opens the subscription page. */
  async subscribe(name: string): Promise<string[]> {
    await this.open(name, 'plan');
    await this.pay.click();
    const approved = await this.approve();
    await this.page.getByRole('link', { name: this.translate('completed:subscription') }).click(SETTLED);
    await expect(this.page).toHaveURL(/\/customer\/subscription\/sub_/);
    return approved;
  }

  /** Requests test tokens for payments that do not open the wallet. */
  async fillWallet(): Promise<void> {
    const wallet = await this.page.context().newPage();
    await wallet.goto('/sandbox/wallet');
    await wallet.getByRole('button', { name: this.translate('sandbox:faucet') }).click();
    await expect(wallet.getByText(this.translate('sandbox:faucetDone')).first()).toBeVisible();
    await wallet.close();
  }

  /** Returns all tokens of the wallet to the faucet. */
  async emptyWallet(): Promise<void> {
    const wallet = await this.page.context().newPage();
    await wallet.goto('/sandbox/wallet');
    await wallet.getByRole('button', { name: this.translate('sandbox:returnTokens') }).click();
    await expect(wallet.getByText(this.translate('sandbox:returned'))).toBeVisible();
    await expect(wallet.getByTestId('balance')).toHaveText(this.translate('sandbox:balanceNone'));
    await expectAccessible(wallet);
    await wallet.close();
  }
}
