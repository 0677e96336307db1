import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, expect, type Page } from '@playwright/test';
import { type Look, wear } from '../fixtures/look';

/** The browser of the store's owner, as the set-up left it, for each server of its own. */
export const OWNER = join(tmpdir(), `souk-owner-${new URL(process.env.SOUK_URL ?? 'http://127.0.0.1').port}.json`);

const open = (browser: Browser): Promise<BrowserContext> =>
  // Writes are taken from the store's own pages only.
  browser.newContext({ storageState: OWNER, extraHTTPHeaders: { origin: new URL(process.env.SOUK_URL ?? '').origin } });

export async function isOwner(browser: Browser): Promise<boolean> {
  if (!existsSync(OWNER)) return false;
  const context = await open(browser);
  const answer = await context.request.get(`${process.env.SOUK_URL}/api/session`);
  const session = await answer.json();
  await context.close();
  return session.user?.role === 'owner';
}

export interface Clock {
  id: string;
  now: number;
  status: string;
  timeline: { at: number; what: string; subject: string }[];
}

/** The owner of the store, who moves the time of customers and gives their money back. */
export class Owner {
  private constructor(readonly context: BrowserContext) {}

  static async of(browser: Browser): Promise<Owner> {
    return new Owner(await open(browser));
  }

  async post<T>(path: string, data: object, method: 'POST' | 'PUT' = 'POST'): Promise<T> {
    const answer = await this.context.request.fetch(`${process.env.SOUK_URL}${path}?livemode=false`, { method, data });
    expect(answer.ok(), `${path}: ${await answer.text()}`).toBe(true);
    return answer.json();
  }

  async get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
    const params = { livemode: 'false', ...query };
    const answer = await this.context.request.get(`${process.env.SOUK_URL}${path}`, { params });
    expect(answer.ok(), `${path}: ${await answer.text()}`).toBe(true);
    return answer.json();
  }

  /** A page of the owner's browser, in the look of another. */
  async page(beside: Page, look: Partial<Look>): Promise<Page> {
    const page = await this.context.newPage();
    await wear(page, look);
    const size = beside.viewportSize();
    if (size) await page.setViewportSize(size);
    return page;
  }

  /** Puts a customer, by DID, on a clock of their own. */
  startClock(did: string, name: string): Promise<Clock> {
    return this.post('/api/test-clocks', { customer_id: did, name });
  }

  /** Moves a clock and waits until it has come to rest. */
  async advance(clock: Clock, step: { by: 'day' | 'next_invoice' | 'year' } | { to: number }): Promise<Clock> {
    await this.post(`/api/test-clocks/${clock.id}/advance`, step);
    let rests = clock;
    await expect
      .poll(
        async () => {
          rests = await this.get<Clock>(`/api/test-clocks/${clock.id}`);
          return rests.status;
        },
        { timeout: 30_000 },
      )
      .toBe('ready');
    return rests;
  }
}
