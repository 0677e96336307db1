import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, expect, type Page } from '@playwright/test';
import { applyDisplaySettings, type DisplaySettings } from '../fixtures/display-settings';
import { recordLayoutShifts } from '../fixtures/layout-shift';

/** The storage state of the owner's browser from the setup, one per server. */
export const OWNER = join(tmpdir(), `souk-owner-${new URL(process.env.SOUK_URL ?? 'http://127.0.0.1').port}.json`);

const open = (browser: Browser): Promise<BrowserContext> =>
  // The server accepts writes only from its own origin.
  browser.newContext({ storageState: OWNER, extraHTTPHeaders: { origin: new URL(process.env.SOUK_URL ?? '').origin } });

export async function isOwner(browser: Browser): Promise<boolean> {
  if (!existsSync(OWNER)) return false;
  const context = await open(browser);
  const response = await context.request.get(`${process.env.SOUK_URL}/api/session`);
  const session = await response.json();
  await context.close();
  return session.user?.role === 'owner';
}

export interface Clock {
  id: string;
  now: number;
  status: string;
  timeline: { at: number; what: string; subject: string }[];
}

/** The owner of the store, who controls test clocks and refunds. */
export class Owner {
  private constructor(readonly context: BrowserContext) {}

  static async of(browser: Browser): Promise<Owner> {
    return new Owner(await open(browser));
  }

  async post<T>(path: string, data: object, method: 'POST' | 'PUT' = 'POST'): Promise<T> {
    const response = await this.context.request.fetch(`${process.env.SOUK_URL}${path}?livemode=false`, {
      method,
      data,
    });
    expect(response.ok(), `${path}: ${await response.text()}`).toBe(true);
    return response.json();
  }

  async get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
    const params = { livemode: 'false', ...query };
    const response = await this.context.request.get(`${process.env.SOUK_URL}${path}`, { params });
    expect(response.ok(), `${path}: ${await response.text()}`).toBe(true);
    return response.json();
  }

  /** A page of the owner's browser with the size of another page. */
  async page(reference: Page, display: Partial<DisplaySettings>): Promise<Page> {
    const page = await this.context.newPage();
    await applyDisplaySettings(page, display);
    await recordLayoutShifts(page);
    const size = reference.viewportSize();
    if (size) await page.setViewportSize(size);
    return page;
  }

  /** Creates a test clock for a customer, by DID. */
  startClock(did: string, name: string): Promise<Clock> {
    return this.post('/api/test-clocks', { customer_id: did, name });
  }

  /** Advances a clock and waits until it is ready. */
  async advance(clock: Clock, step: { by: 'day' | 'next_invoice' | 'year' } | { to: number }): Promise<Clock> {
    await this.post(`/api/test-clocks/${clock.id}/advance`, step);
    let current = clock;
    await expect
      .poll(
        async () => {
          current = await this.get<Clock>(`/api/test-clocks/${clock.id}`);
          return current.status;
        },
        { timeout: 30_000 },
      )
      .toBe('ready');
    return current;
  }
}
