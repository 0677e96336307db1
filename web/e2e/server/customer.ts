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
        test.use(widths[width]);
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

/** What the flows know of a plan of the demo store, by the name of its app. */
export interface Plan {
  app: AppDetail;
  link: string;
  name: string;
}

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
    await expect(this.page.locator('[aria-busy="true"]')).toHaveCount(0);
    await expectAccessible(this.page);
    const sideways = await this.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(sideways, 'scrolls sideways').toBeLessThanOrEqual(0);
    if (process.env.SHOTS) await this.shoot();
  }

  private shots = 0;

  /** For whoever wants to look at the screens: `SHOTS` names a folder. */
  private async shoot(): Promise<void> {
    const title = test.info().titlePath.slice(1).join(' ').replace(/\W+/g, '-').slice(0, 60);
    this.shots += 1;
    const path = `${process.env.SHOTS}/${title}-${String(this.shots).padStart(2, '0')}.png`;
    await this.page.screenshot({ path, fullPage: true });
  }

  /** Finds an app's plan in the store and goes to its checkout, signed in on the way. */
  async openPlan(app: string): Promise<AppDetail> {
    const { list } = await this.get<List<AppDetail>>('/api/apps', { keyword: app });
    const did = list.find(({ name }) => name === app)?.did;
    const detail = await this.get<AppDetail>(`/api/apps/${did}`);
    await this.page.goto(`/apps/${did}`);
    const plan = this.page.getByRole('region', { name: this.say('plans:plans.title') });
    await plan.getByRole('link').first().click();
    await expect(this.page).toHaveURL(/\/checkout\/pay\/cs_/);
    const pay = this.page.locator('.checkout-pay button');
    await expect(pay).toBeVisible();
    if ((await pay.innerText()) === (await this.connectFirst())) {
      await pay.click();
      await this.agree();
      await expect(pay).not.toHaveText(this.say('checkout:form.connectFirst'));
    }
    return detail;
  }

  private async connectFirst(): Promise<string> {
    return this.say('checkout:form.connectFirst').source.slice(1, -1);
  }
}
