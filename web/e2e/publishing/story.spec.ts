import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import type { AppDetail, Category, CreatedAccessToken, Page as List } from '../../src/api/types';
import { expectAccessible } from '../fixtures/axe';
import { Customer, SETTLED } from '../server/customer';
import { Owner } from '../server/owner';
import { requireServer } from '../server/wallet';
import { AppFolder } from './app-folder';
import { Computer, FAILED, NOT_CONFIRMED, NOT_OFFERED, SIGN_IN_REQUIRED } from './computer';
import {
  approve,
  arrive,
  arriveAsReviewer,
  DEVELOPER,
  depositOf,
  expectText,
  expectTitle,
  ONE_DAY_TOKEN,
  payDeposit,
  prepareStore,
  proposePrice,
  say,
  take,
} from './people';

/** An app from its developer's first visit to its block: pages, command line, network and server are real. */
test.describe.configure({ mode: 'serial', timeout: 180_000 });

const STORE = process.env.SOUK_URL ?? '';
const NAME = 'kiln-calendar';
const TITLE = 'Kiln calendar';
const REASON = 'It sends passwords to strangers.';

const [workshop, laptop] = [new Computer('workshop'), new Computer('laptop')];
const app = new AppFolder(join(workshop.home, NAME));
const IN_APP = ['--dir', app.path];
let owner: Owner;
let admin: Customer;
let developer: Customer;
let first: Customer;
let second: Customer;
let visitor: Customer;

/** The folder of the app on the customer's computer. */
const installed = () => join(laptop.home, '.local/share/souk/apps', app.did);
const installedVersion = () =>
  /^version: (.*)$/m.exec(readFileSync(join(installed(), 'current/app/blocklet.yml'), 'utf8'))?.[1];

/** Packs and uploads a version of the app, and returns what the command line says of it. */
async function publish(version: string, more = ''): Promise<string> {
  app.raise(version, more);
  await workshop.done(['pack', '--check', ...IN_APP]);
  return workshop.done(['publish', ...IN_APP]);
}

test.beforeAll(async ({ browser }) => {
  requireServer();
  test.setTimeout(120_000);
  owner = await Owner.of(browser);
  await prepareStore(owner);
  developer = await arrive(browser, 'en');
  admin = new Customer(await owner.page(developer.page, {}), 'en');
  first = await arriveAsReviewer(browser, owner, 'en');
  second = await arriveAsReviewer(browser, owner, 'zh');
  visitor = await arrive(browser, 'en');
});

test.afterAll(async () => {
  for (const computer of [workshop, laptop]) computer.stop();
  for (const person of [developer, first, second, visitor]) await person?.page.context().close();
  await owner?.context.close();
});

test('a visitor becomes a developer by a deposit, and connects a computer', async () => {
  const { page } = developer;
  await page.goto('/join');
  await page.getByRole('checkbox').check();
  await developer.button('join:join.signIn').click();
  await developer.approve();
  await developer.button('join:join.pay').click();
  await developer.approve();
  await expectTitle(developer, 'join:join.done');

  const connected = await approve(developer, await workshop.ask(['connect', STORE]));
  expect(connected).toMatchObject({ code: 0, out: expect.stringContaining(`Connected to ${STORE}/ as `) });
  // The page offers longer ones only. `later.spec.ts` shows what becomes of it after a day.
  const token = { name: 'One day', scopes: ['publish-new', 'publish-update'], apps: ['*'], lifetime_days: 1 };
  const created = await page.request.post('/api/developer/access-tokens', { data: token, headers: { origin: STORE } });
  expect(created.ok(), `${created.status()}`).toBe(true);
  writeFileSync(ONE_DAY_TOKEN, ((await created.json()) as CreatedAccessToken).secret_key, { mode: 0o600 });
});

test('the command line and the page show a failed check, and a higher version corrects it', async ({ browser }) => {
  const { page, translate } = developer;
  await workshop.done(['init', ...IN_APP, '--name', NAME, '--title', TITLE]);
  await app.draw(browser, TITLE);
  app.write('LICENSE', 'Permission is hereby granted, free of charge, to any person obtaining a copy.\n');
  app.write('index.html', '<h1>Firings</h1>\n');
  app.write('key.pem', ['-----BEGIN', 'PRIVATE KEY-----\n'].join(' '));
  const checked = await workshop.run(['pack', '--check', ...IN_APP]);
  expect(checked).toMatchObject({ code: FAILED, error: expect.stringContaining('1 check failed') });
  const draft = await workshop.run(['publish', ...IN_APP]);
  expect(draft).toMatchObject({ code: FAILED, error: expect.stringContaining('1 of its checks failed') });
  for (const { out } of [checked, draft]) expect(out).toContain('secrets.private_key key.pem:1');

  await page.goto(`/developer/apps/${app.did}/0.1.0`);
  const checks = page.getByRole('region', { name: translate('reviews:checks.title') });
  await expect(checks.getByText(translate('reviews:checks.state.failed'))).toBeVisible();
  await expect(checks.getByText('key.pem:1', { exact: true })).toBeVisible();
  await expect(checks.getByText(translate('reviews:hint.secrets.private_key'))).toBeVisible();
  await expectAccessible(page);

  await proposePrice(developer, app.did, '3');

  app.remove('key.pem');
  const requested = await publish('0.2.0');
  expect(requested).toContain('passed  secrets');
  expect(requested).toContain('0.2.0: waiting for review');
});

test('one reviewer requests changes, another approves the next version, and it is published', async () => {
  const { page, translate } = first;
  await page.goto('/console/reviews');
  await page.getByRole('link', { name: translate('reviews:version.of', { name: NAME, version: '0.2.0' }) }).click();
  await first.button('reviews:step.start').click();
  await expectText(first, 'reviews:reviewer.mine');
  await take(first, 'request_changes', say(first, 'Say which kilns it knows.'));
  await expectText(first, 'reviews:reviewer.changes');
  await expectAccessible(page);
  const status = await workshop.done(['status', ...IN_APP]);
  expect(status).toContain('0.2.0: in review: changes are requested');
  expect(status).toContain('Say which kilns it knows.');

  app.write('blocklet.md', `# ${TITLE}\n\nPlans the firings of gas and electric kilns.\n`);
  expect(await publish('0.3.0')).toContain('0.3.0: waiting for review');
  await page.reload();
  await expectText(first, 'reviews:replaced', { version: '0.3.0' });
  await page.goto(`/console/reviews/${app.did}/0.3.0`);
  await first.button('reviews:step.start').click();
  await expectText(first, 'reviews:reviewer.mine');

  await second.page.goto(`/console/reviews/${app.did}/0.3.0`);
  await expectText(second, 'reviews:reviewer.other');
  await take(second, 'take_over');
  await expectText(second, 'reviews:reviewer.mine');
  const [category] = (await second.get<{ list: Category[] }>('/api/categories')).list;
  await take(second, 'approve', async (dialog) => {
    await say(second, '描述清楚了。')(dialog);
    await dialog.getByLabel(second.translate('reviews:facts.category')).click();
    await second.page.getByTitle(category?.name.zh ?? '', { exact: true }).click();
  });
  await expectText(second, 'reviews:reviewer.approved');
  await expectAccessible(second.page);

  const unpaid = await workshop.run(['publish', ...IN_APP]);
  const message = expect.stringContaining('A deposit is required to publish this app');
  expect(unpaid).toMatchObject({ code: FAILED, error: message });
  await payDeposit(developer, app.did);
  expect(await workshop.done(['publish', ...IN_APP])).toContain('0.3.0: published');
});

test('a visitor finds, buys and installs the app', async () => {
  const { page, translate } = visitor;
  await page.goto('/');
  await page.getByRole('textbox', { name: translate('store:header.search') }).fill(TITLE);
  await page.getByRole('link', { name: TITLE, exact: true }).first().click();
  await expect(page.getByRole('heading', { level: 1, name: TITLE })).toBeVisible();
  await expectAccessible(page);
  // Without a terminal, the first contact names the store.
  const { id } = await visitor.get<{ id: string }>('/api/store.json');
  const unknown = await laptop.run(['install', app.did, '--store', STORE, '--store-did', id, '--yes']);
  expect(unknown).toMatchObject({ code: SIGN_IN_REQUIRED });
  await visitor.open(NAME, 'app');
  await visitor.pay.click();
  await visitor.approve();
  await expectTitle(visitor, 'completed:title');

  expect(await approve(visitor, await laptop.ask(['login', STORE]))).toMatchObject({ code: 0 });
  const shown = await laptop.run(['install', app.did]);
  expect(shown).toMatchObject({ code: NOT_CONFIRMED, error: expect.stringContaining('asks for no permissions') });
  expect(await laptop.done(['install', app.did, '--yes'])).toContain(`Installed ${TITLE} 0.3.0`);
  expect(readFileSync(join(installed(), 'current/app/index.html'), 'utf8')).toBe('<h1>Firings</h1>\n');
  expect(existsSync(join(installed(), 'license.json'))).toBe(true);
});

test('an update that adds a permission is held for a review, and asks before it is installed', async () => {
  const requested = await publish('0.4.0', 'capabilities:\n  clusterMode: true\n');
  expect(requested).toContain('0.4.0: waiting for review');
  expect(await laptop.done(['update'])).toContain('up to date');
  await developer.page.goto(`/developer/apps/${app.did}/0.4.0`);
  await expectText(developer, 'reviews:need.risky_differences');

  await second.page.goto(`/console/reviews/${app.did}/0.4.0`);
  const title = second.translate('reviews:differences.title', { version: '0.3.0' });
  await expect(second.page.getByRole('region', { name: title }).getByText('clusterMode')).toBeVisible();
  await second.button('reviews:step.start').click();
  await expectText(second, 'reviews:reviewer.mine');
  await take(second, 'approve', say(second, '需要此权限。'));
  await developer.page.reload();
  await take(developer, 'publish');
  await expectText(developer, 'reviews:published.current');

  const shown = await laptop.run(['update']);
  expect(shown).toMatchObject({ code: NOT_CONFIRMED, error: expect.stringContaining('+ permission: clusterMode') });
  expect(installedVersion()).toBe('0.3.0');
  expect(await laptop.done(['update', '--yes'])).toContain('updated to 0.4.0');
  expect(installedVersion()).toBe('0.4.0');
});

test('the owner blocks the app and keeps its deposit, and unblocks it after another deposit', async () => {
  const { page, translate } = admin;
  await page.goto(`/console/reviews/${app.did}/0.4.0`);
  await take(admin, 'block', async (dialog) => {
    await dialog.getByLabel(translate('reviews:comment.reason')).fill(REASON);
    await dialog.getByRole('checkbox', { name: translate('reviews:block.forfeit') }).check();
  });
  await expectText(admin, 'reviews:app.blockedBecause', { reason: REASON });
  await developer.page.goto(`/developer/apps/${app.did}`);
  await expectText(developer, 'reviews:app.blockedBecause', { reason: REASON });
  expect((await visitor.get<List<AppDetail>>('/api/apps', { keyword: NAME })).list).toEqual([]);
  expect(await laptop.run(['update'])).toMatchObject({ code: NOT_OFFERED });
  expect(existsSync(join(installed(), 'license.json'))).toBe(false);

  // The network moves the deposit to the store.
  await expect.poll(async () => (await depositOf(developer, app.did)).stake, SETTLED).toBeNull();
  await page.goto('/console/stakes');
  await expectText(admin, 'console:stakes.reason.forfeited');
  await page.goto(`/console/reviews/${app.did}/0.4.0`);
  await admin.button('reviews:step.unblock').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: translate('reviews:step.unblock') }).click();
  await expect(dialog.getByText(translate('error-messages:error.PUBLISH_DEPOSIT_REQUIRED'))).toBeVisible();
  await dialog.getByRole('button', { name: translate('common:action.cancel') }).click();
  await payDeposit(developer, app.did);
  await take(admin, 'unblock');
  await expect(admin.button('reviews:step.block')).toBeVisible();
  expect(await laptop.done(['update'])).toContain('up to date, licensed until');

  const oneDay = { SOUK_STORE: STORE, SOUK_ACCESS_TOKEN: readFileSync(ONE_DAY_TOKEN, 'utf8') };
  expect(await new Computer('server', oneDay).done(['status', app.did])).toContain('0.4.0: published');
  await developer.page.context().storageState({ path: DEVELOPER });
});
