import { devices, expect, type Locator, type Page, test } from '@playwright/test';
import type { AppDetail, Page as List, Session, Subscription } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import { type Look, looks, wear } from '../fixtures/look';
import { agreeInWallet, requireServer } from './wallet';
import { type Say, wordsIn } from './words';

/** Time that a network, a worker and a page together may take. */
export const SETTLED = { timeout: 30_000 };

const { defaultBrowserType: _, ...pixel } = devices['Pixel 7'];
const widths = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { ...pixel, viewport: { width: 390, height: 844 } },
};

/** Each flow once on a desktop and once on a phone; with `MATRIX=all` in every look on both. */
export function inLooks(flow: (look: Look, width: keyof typeof widths) => void): void {
  const all = process.env.MATRIX === 'all';
  for (const look of looks) {
    for (const width of ['desktop', 'phone'] as const) {
      if (!all && (width === 'phone') !== (look.locale === 'zh')) continue;
      test.describe(`${look.locale}, ${look.scheme}, ${width}`, () => {
        test.use({ ...widths[width], actionTimeout: 15_000 });
        test.beforeEach(({ page }) => {
          requireServer();
          test.setTimeout(180_000);
          return wear(page, look);
        });
        flow(look, width);
      });
    }
  }
}

/** How many screens this worker has shot. */
let shots = 0;

/** Somebody in front of the store, in one language. */
export class Customer {
  readonly say: Say;

  constructor(
    readonly page: Page,
    readonly language: Look['locale'],
  ) {
    this.say = wordsIn(language);
  }

  async get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
    const answer = await this.page.request.get(path, { params: { livemode: 'false', ...query } });
    expect(answer.ok(), `${path}: ${answer.status()}`).toBe(true);
    return answer.json();
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

  button(name: Parameters<Say>[0], values?: Parameters<Say>[1]): Locator {
    return this.page.getByRole('button', { name: this.say(name, values) });
  }

  /** Opens the wallet that a dialog asks for, and agrees to all of it. */
  agree(): Promise<string[]> {
    return agreeInWallet(this.page, this.say);
  }

  /** The page is at rest, fits its width, and has no accessibility fault. */
  async looksRight(): Promise<void> {
    await expect(this.page.locator('html')).toHaveAttribute('lang', this.language);
    await expect(this.page.locator('h1')).toHaveCount(1);
    const dialog = this.page.getByRole('dialog');
    const part = (await dialog.count()) > 0 ? dialog : this.page.locator('body');
    await expect(part.locator('[aria-busy="true"]')).toHaveCount(0);
    await expectAccessible(this.page);
    const sideways = await this.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(sideways, 'scrolls sideways').toBeLessThanOrEqual(0);
    if (process.env.SHOTS) await this.shoot();
  }

  /** For whoever wants to look at the screens: `SHOTS` names a folder. */
  private async shoot(): Promise<void> {
    const title = test.info().titlePath.slice(1).join(' ').replace(/\W+/g, '-').slice(0, 60);
    shots += 1;
    const path = `${process.env.SHOTS}/${title}-${String(shots).padStart(2, '0')}.png`;
    await this.page.screenshot({ path, fullPage: true, scale: 'css' });
  }

  /** Finds an app in the store and its plan, or the app itself, and goes to the checkout, signed in on the way. */
  async open(name: string, what: 'plan' | 'app'): Promise<AppDetail> {
    const { list } = await this.get<List<AppDetail>>('/api/apps', { keyword: name });
    const did = list.find((app) => app.name === name)?.did;
    const app = await this.get<AppDetail>(`/api/apps/${did}`);
    await this.page.goto(`/apps/${did}`);
    await expect(this.page.getByRole('heading', { level: 1, name: app.title[this.language] })).toBeVisible();
    const plan = this.page.getByRole('region', { name: this.say('plans:plans.title') }).getByRole('link');
    const buy = this.page.getByRole('link', { name: this.say('store:app.buy') });
    await (what === 'plan' ? plan : buy).first().click();
    await expect(this.page).toHaveURL(/\/checkout\/pay\/cs_/);
    await this.connectFirst();
    return app;
  }

  /** Signs in at the checkout, where nobody has before. */
  async connectFirst(): Promise<void> {
    await expect(this.pay).toBeVisible();
    if (!this.say('checkout:form.connectFirst').test(await this.pay.innerText())) return;
    await this.pay.click();
    await this.agree();
    await expect(this.pay).not.toHaveText(this.say('checkout:form.connectFirst'));
  }

  /** The one button of the checkout. */
  get pay(): Locator {
    return this.page.locator('.checkout-pay button');
  }

  /** Subscribes to an app's plan by wallet, and ends on the subscription's page. */
  async subscribe(name: string): Promise<string[]> {
    await this.open(name, 'plan');
    await this.pay.click();
    const agreed = await this.agree();
    await this.page.getByRole('link', { name: this.say('completed:subscription') }).click(SETTLED);
    await expect(this.page).toHaveURL(/\/customer\/subscription\/sub_/);
    return agreed;
  }

  /** Takes test tokens from the faucet, for what is to be paid without the wallet. */
  async fillWallet(): Promise<void> {
    const wallet = await this.page.context().newPage();
    await wallet.goto('/sandbox/wallet');
    await wallet.getByRole('button', { name: this.say('sandbox:faucet') }).click();
    await expect(wallet.getByText(this.say('sandbox:faucetDone')).first()).toBeVisible();
    await wallet.close();
  }

  /** Sends whatever the wallet holds back to the faucet. */
  async emptyWallet(): Promise<void> {
    const wallet = await this.page.context().newPage();
    await wallet.goto('/sandbox/wallet');
    await wallet.getByRole('button', { name: this.say('sandbox:giveBack') }).click();
    await expect(wallet.getByText(this.say('sandbox:gaveBack'))).toBeVisible();
    await expect(wallet.getByTestId('balance')).toHaveText(this.say('sandbox:balanceNone'));
    await expectAccessible(wallet);
    await wallet.close();
  }
}
