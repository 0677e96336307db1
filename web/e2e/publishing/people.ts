import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, expect, type Locator } from '@playwright/test';
import type { AppDeposit, Preferences } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import { applyDisplaySettings, type DisplaySettings } from '../fixtures/display-settings';
import { Customer, SETTLED } from '../server/customer';
import type { Owner } from '../server/owner';
import type { Translate } from '../server/translate';
import type { Asked, Printed } from './computer';

/** The storage state of the developer's browser at the end of the story. */
export const DEVELOPER = join(tmpdir(), 'souk-developer.json');
/** The secret of the developer's access token that is valid for a day. */
export const ONE_DAY_TOKEN = join(tmpdir(), 'souk-one-day-token');

/** Lets developers join by deposits, and sell apps whose first versions are reviewed. */
export async function prepareStore(owner: Owner): Promise<void> {
  const before = await owner.get<Preferences>('/api/console/preferences');
  const changes: Partial<Preferences> = {
    permission_mode: 'staking',
    stake_currency: 'SKT',
    passport_stake_amount: '2',
    publish_stake_amount: '1',
    review_required: true,
    review_type: 'FIRST',
    paid_apps_allowed: true,
  };
  await owner.post('/api/console/preferences', { ...before, ...changes }, 'PUT');
}

/** A visitor with a browser of their own, on a desktop or, in Chinese, on a phone. */
export async function arrive(browser: Browser, locale: DisplaySettings['locale']): Promise<Customer> {
  const phone = { viewport: { width: 390, height: 844 } };
  const page = await (await browser.newContext(locale === 'zh' ? phone : {})).newPage();
  await applyDisplaySettings(page, { locale, scheme: locale === 'zh' ? 'dark' : 'light' });
  return new Customer(page, locale);
}

/** A visitor who accepts an invitation to review. */
export async function arriveAsReviewer(
  browser: Browser,
  owner: Owner,
  locale: DisplaySettings['locale'],
): Promise<Customer> {
  const reviewer = await arrive(browser, locale);
  const invitation = { role: 'reviewer', lifetime_days: 1 };
  const { link } = await owner.post<{ link: string }>('/api/console/invitations', invitation);
  await reviewer.page.goto(link);
  await reviewer.approve();
  await reviewer.button('portal:invitation.action').click();
  await expectTitle(reviewer, 'portal:invitation.done.reviewer');
  return reviewer;
}

/** Approves on its page what a command asks for. */
export async function approve(person: Customer, asked: Asked): Promise<Printed> {
  await person.page.goto(asked.page);
  await expect(person.page.getByText(asked.code)).toBeVisible();
  await expectAccessible(person.page);
  await person.button('publish:tool.approve').click();
  await expectTitle(person, 'publish:tool.approved');
  return asked.ended;
}

/** Proposes a price in test tokens on the page of an app. */
export async function proposePrice(developer: Customer, did: string, amount: string): Promise<void> {
  const { page, translate } = developer;
  await page.goto(`/developer/apps/${did}`);
  await developer.button('selling:price.change').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(translate('selling:price.type.one_time')).click();
  await dialog.getByLabel(translate('selling:price.currency')).click();
  await page.locator('.ant-select-item-option').filter({ hasText: 'SKT' }).click();
  await dialog.getByLabel(translate('selling:price.amount', { symbol: 'SKT' })).fill(amount);
  await dialog.getByRole('button', { name: translate('selling:price.propose') }).click();
  await expect(dialog).toHaveCount(0);
  await expectText(developer, 'selling:price.next');
}

export async function depositOf(developer: Customer, did: string): Promise<AppDeposit> {
  return developer.get<AppDeposit>(`/api/apps/${did}/deposit`);
}

/** Places the deposit for an app on its page. */
export async function payDeposit(developer: Customer, did: string): Promise<void> {
  await developer.page.goto(`/developer/apps/${did}`);
  await developer.button('reviews:deposit.pay').click();
  await developer.approve();
  await expect.poll(async () => (await depositOf(developer, did)).complete, SETTLED).toBe(true);
  await developer.page.reload();
  await expectText(developer, 'reviews:deposit.held');
}

export async function expectTitle(person: Customer, title: Parameters<Translate>[0]): Promise<void> {
  const name = person.translate(title);
  await expect(person.page.getByRole('heading', { level: 1, name })).toBeVisible(SETTLED);
}

/** Takes a step of a review that has a dialog. */
export async function take(person: Customer, step: string, fill?: (dialog: Locator) => Promise<void>): Promise<void> {
  await person.button(`reviews:step.${step}`).click();
  const dialog = person.page.getByRole('dialog');
  await fill?.(dialog);
  await dialog.getByRole('button', { name: person.translate(`reviews:step.${step}`) }).click();
  await expect(dialog).toHaveCount(0);
}

/** Fills in the comment of a step. */
export const say =
  (person: Customer, comment: string) =>
  (dialog: Locator): Promise<void> =>
    dialog.getByLabel(person.translate('reviews:comment.label')).fill(comment);

/** Expects a text, which the history of a review may repeat. */
export const expectText = (
  person: Customer,
  text: Parameters<Translate>[0],
  values: Parameters<Translate>[1] = {},
): Promise<void> => expect(person.page.getByText(person.translate(text, values)).first()).toBeVisible();
