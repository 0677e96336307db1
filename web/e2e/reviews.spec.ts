import { expect, type Page, test } from '@playwright/test';
import type { UploadedVersion } from '../src/api/types';
import { expectAccessible } from './fixtures/axe';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { APP, checks, claimed, NOW, REVIEWER, review, versionsOf } from './fixtures/reviews';
import { type ServerOptions, serve } from './fixtures/server';

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW));

const own = `/developer/apps/${APP}/1.3.0`;
const judged = `/console/reviews/${APP}/1.3.0`;

/** Opens a page with the API mocked, in English. */
async function open(page: Page, path: string, options: ServerOptions) {
  await applyDisplaySettings(page);
  const recorded = await serve(page, { signedIn: true, ...options });
  await page.goto(path);
  return recorded;
}

const stepsOf = ({ calls }: Awaited<ReturnType<typeof serve>>) =>
  calls.filter(({ method, path }) => method === 'PUT' && path.endsWith('/review')).map(({ body }) => body);

for (const display of displaySettings) {
  test(`a developer sees apps, versions and a review, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'developer', reviews: { reviews: versionsOf('app_owner') } });
    await page.goto('/developer/apps');
    await expect(page.getByText('atlas-notes')).toBeVisible();
    await expect(page.getByText(/^Static site$|^静态网站$/)).toBeVisible();
    await expect(page.getByText(/^Command line$|^命令行$/)).toBeVisible();
    await expect(page.getByText(/^Draft$|^草稿$/)).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'atlas-notes', exact: true }).click();
    await expect(page.getByRole('link', { name: '1.0.0' })).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('link', { name: '1.3.0' }).click();
    await expect(page.getByText('api/hooks/pre-install.js:12')).toBeVisible();
    await expectAccessible(page);
  });

  test(`a reviewer sees the queue and judges a version, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'reviewer', reviews: { reviews: versionsOf('reviewer') } });
    await page.goto('/console/reviews');
    await expect(page.getByRole('link', { name: 'atlas-notes 1.3.0' })).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'atlas-notes 1.3.0' }).click();
    await expect(page.getByText('files.example.org')).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: /^Approve$|^通过$|^通 过$/ }).click();
    await expectAccessible(page);
  });
}

test('the queue and the page of a version follow the steps of others', async ({ page }) => {
  const waiting = claimed({ version: { status: 'PENDING_REVIEW', claimed_by: null, claimed_until: null } });
  const recorded = await open(page, '/console/reviews', { role: 'reviewer', reviews: { reviews: [waiting] } });
  const follow = async (changes: Partial<UploadedVersion>) => {
    await expect.poll(() => recorded.emitEvent !== undefined).toBe(true);
    for (const { version } of recorded.reviews.reviews) Object.assign(version, changes);
    recorded.emitEvent?.('blocklet.reviewed', { blockletId: APP, status: changes.status ?? '', version: '1.3.0' });
    recorded.emitEvent = undefined;
  };
  await expect(page.getByText('Waiting for review', { exact: true })).toBeVisible();
  await follow({ status: 'IN_REVIEW', claimed_by: REVIEWER, claimed_until: '2026-11-21T08:00:00.000Z' });
  await expect(page.getByText('In review', { exact: true })).toBeVisible();
  await page.getByRole('link', { name: 'atlas-notes 1.3.0' }).click();
  await expect(page.getByText('Another reviewer is reviewing this version.')).toBeVisible();
  await follow({ status: 'CANCELLED', claimed_by: null, claimed_until: null });
  await expect(page.getByText('The developer canceled the review of this version.')).toBeVisible();
});

test('a developer without apps reads how to upload one', async ({ page }) => {
  await open(page, '/', { role: 'developer' });
  await page.getByRole('button', { name: 'Account of Mei Lin' }).click();
  await page.getByRole('menuitem', { name: 'Your apps' }).click();
  await expect(page.getByText("You haven't uploaded an app yet.")).toBeVisible();
  await page.getByRole('link', { name: 'Access tokens' }).click();
  await expect(page.getByText('No access tokens yet.')).toBeVisible();
});

test('a developer requests a review, which first fails, and cancels it', async ({ page }) => {
  const recorded = await open(page, own, {
    role: 'developer',
    reviews: { reviews: [review()], refusals: [{ code: 'REVIEW_SUPERSEDED', error: 'A higher version was uploaded' }] },
  });
  const request = page.getByRole('button', { name: 'Request review' });
  await request.click();
  await expect(page.getByRole('alert')).toContainText('A higher version of this app was uploaded.');
  await request.click();
  await expect(page.getByText('This version is waiting for a reviewer.')).toBeVisible();
  await expect(page.getByRole('alert')).toHaveCount(0);
  await expect(page.getByRole('list').filter({ hasText: 'requested a review' })).toBeVisible();
  await page.getByRole('button', { name: 'Cancel review' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText("This can't be undone.");
  await dialog.getByRole('button', { name: 'Cancel review' }).click();
  await expect(page.getByText('You canceled the review of this version.')).toBeVisible();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole('region', { name: 'Status' })).toBeFocused();
  expect(stepsOf(recorded)).toEqual([{ step: 'request' }, { step: 'request' }, { step: 'cancel' }]);
});

test('a developer publishes an approved version with a category', async ({ page }) => {
  const recorded = await open(page, own, {
    role: 'developer',
    reviews: { reviews: [review({ need: null, version: { status: 'APPROVED', decided_by: REVIEWER } })] },
  });
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await expect(dialog.getByRole('alert')).toHaveText('Choose a category.');
  await dialog.getByLabel('Category').click();
  await page.getByTitle('Media').click();
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await expect(page.getByText('New installs get this version.')).toBeVisible();
  await expect(page.getByRole('link', { name: 'View in the store' })).toHaveAttribute('href', `/apps/${APP}/1.3.0`);
  expect(stepsOf(recorded)).toEqual([{ step: 'publish', category_id: 'cat_media' }]);
});

test('a developer whose version needs changes uploads a higher one, and an old one names its successor', async ({
  page,
}) => {
  const changes = { status: 'IN_REVIEW', claimed_by: REVIEWER, claimed_until: NOW, changes_requested: true } as const;
  const old = { version: '1.0.0', status: 'CANCELLED', replaced_by: '1.3.0' } as const;
  await open(page, own, {
    role: 'developer',
    reviews: { reviews: [review({ version: changes }), review({ version: old })] },
  });
  await expect(page.getByText('Changes requested: upload a higher version.')).toBeVisible();
  await page.goto(`/developer/apps/${APP}/1.0.0`);
  await expect(page.getByText('Replaced by 1.3.0')).toBeVisible();
});

test('a developer appeals once, with a comment', async ({ page }) => {
  const recorded = await open(page, own, {
    role: 'developer',
    reviews: { reviews: [review({ version: { status: 'REJECTED', decided_by: REVIEWER } })] },
  });
  await page.getByRole('button', { name: 'Appeal' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Appeal' }).click();
  await expect(dialog.getByRole('alert')).toHaveText('Write a comment.');
  await dialog.getByLabel('Why should this decision change?').fill('  The key is a sample. ');
  await dialog.getByRole('button', { name: 'Appeal' }).click();
  await expect(page.getByText('Your appeal is waiting for another reviewer.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Appeal' })).toHaveCount(0);
  expect(stepsOf(recorded)).toEqual([{ step: 'appeal', comment: 'The key is a sample.' }]);
});

test('a reviewer starts a review, comments and approves with category and review type', async ({ page }) => {
  const waiting = claimed({ version: { status: 'PENDING_REVIEW', claimed_by: null, claimed_until: null } });
  const recorded = await open(page, '/console', { role: 'reviewer', reviews: { reviews: [waiting] } });
  await page.getByRole('link', { name: 'atlas-notes 1.3.0' }).click();
  await page.getByRole('button', { name: 'Start review' }).click();
  await expect(page.getByText('You are reviewing this version.')).toBeVisible();
  await page.getByLabel('New comment').fill('Why the camera?');
  await page.getByRole('button', { name: 'Add comment' }).click();
  await expect(page.getByRole('listitem').filter({ hasText: 'Why the camera?' })).toBeVisible();
  await expect(page.getByLabel('New comment')).toHaveValue('');
  await page.getByRole('button', { name: 'Approve' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await expect(dialog.getByRole('alert')).toHaveText('Write a comment.');
  await expect(dialog.getByLabel('Comment')).toBeFocused();
  await dialog.getByLabel('Comment').fill('Fine.');
  await dialog.getByRole('radio', { name: /First version only/ }).check();
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await expect(page.getByText('Its developer can publish it.')).toBeVisible();
  expect(stepsOf(recorded)).toEqual([
    { step: 'start' },
    { step: 'comment', comment: 'Why the camera?' },
    { step: 'approve', comment: 'Fine.', category_id: 'cat_media', review_type: 'FIRST' },
  ]);
});

test('a reviewer requests changes and rejects, which the dialog calls final', async ({ page }) => {
  const recorded = await open(page, judged, { role: 'reviewer', reviews: { reviews: [claimed()] } });
  await page.getByRole('button', { name: 'Request changes' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Comment').fill('Explain the script.');
  await dialog.getByRole('button', { name: 'Request changes' }).click();
  await expect(page.getByText('Changes were requested.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Request changes' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Reject' }).click();
  await expect(dialog).toContainText('This is final.');
  await dialog.getByLabel('Comment').fill('No answer.');
  await dialog.getByRole('button', { name: 'Reject' }).click();
  await expect(page.getByText('This version was rejected.')).toBeVisible();
  expect(stepsOf(recorded)).toEqual([
    { step: 'request_changes', comment: 'Explain the script.' },
    { step: 'reject', comment: 'No answer.' },
  ]);
});

test('a review that somebody else has claimed meanwhile is loaded again and can be taken over', async ({ page }) => {
  const recorded = await open(page, judged, {
    role: 'admin',
    reviews: {
      reviews: [claimed({ role: 'admin' })],
      refusals: [{ code: 'REVIEW_CLAIMED_BY_OTHER', error: 'Another reviewer has claimed this review' }],
    },
  });
  await page.getByRole('button', { name: 'Reject' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Comment').fill('No.');
  const [shown] = recorded.reviews.reviews;
  if (shown) shown.version.claimed_by = REVIEWER;
  await dialog.getByRole('button', { name: 'Reject' }).click();
  await expect(dialog.getByRole('alert')).toContainText('Another reviewer has claimed this review.');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Take over' }).click();
  await dialog.getByRole('button', { name: 'Take over' }).click();
  await expect(page.getByText('You are reviewing this version.')).toBeVisible();
});

test('another reviewer decides about an appeal', async ({ page }) => {
  const appealed = { status: 'REJECTED', appeal: 'open', decided_by: REVIEWER, claimed_by: null } as const;
  const recorded = await open(page, judged, {
    role: 'reviewer',
    reviews: { reviews: [claimed({ version: appealed })] },
  });
  await page.getByRole('button', { name: 'Grant appeal' }).click();
  await page.getByRole('dialog').getByLabel('Comment').fill('The key is a sample.');
  await page.getByRole('dialog').getByRole('button', { name: 'Grant appeal' }).click();
  await expect(page.getByText('The appeal was granted. Another reviewer')).toBeVisible();
  expect(stepsOf(recorded)).toEqual([{ step: 'grant_appeal', comment: 'The key is a sample.' }]);
});

test('checks appear once they have run, and run again', async ({ page }) => {
  const recorded = await open(page, own, { role: 'developer', reviews: { reviews: [review()], checks: [] } });
  await expect(page.getByText('The checks are running. Their results appear here.')).toBeVisible();
  recorded.reviews.checks = structuredClone(checks);
  await expect(page.getByText('The bundle contains an access token')).toBeVisible();
  await expect(page.getByText("This check couldn't be completed.")).toBeVisible();
  await page.getByRole('button', { name: 'Run again' }).click();
  await expect(page.getByText('The previous results are shown until they finish.')).toBeVisible();
  recorded.reviews.checks = checks.map((check) => ({ ...check, state: 'passed', findings: [], checked_at: NOW }));
  await expect(page.getByText('Problems found')).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Run again' })).toBeEnabled();
});

test('a version that does not exist, and a queue without versions, say so', async ({ page }) => {
  await open(page, judged, { role: 'reviewer' });
  await expect(page.getByRole('heading', { level: 1, name: 'This version does not exist' })).toBeVisible();
  await page.getByRole('link', { name: 'Reviews' }).first().click();
  await expect(page.getByText('No version is waiting for a review.')).toBeVisible();
  await page.getByText('Decided', { exact: true }).click();
  await expect(page.getByText('No decisions yet.')).toBeVisible();
  await expect(page).toHaveURL(/filter=decided/);
});

for (const [path, role, title] of [
  ['/developer/apps', 'owner', 'This page is for developers'],
  [own, undefined, 'This page is for developers'],
  ['/console/reviews', 'developer', 'This page is for reviewers and administrators'],
  [judged, undefined, 'This page is for reviewers and administrators'],
] as const) {
  test(`${path.replace(APP, 'DID')} refuses others: ${role ?? 'customer'}`, async ({ page }) => {
    const recorded = await open(page, path, { role });
    await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible();
    expect(recorded.calls.some(({ path: called }) => /uploads|review|developer\/apps/.test(called))).toBe(false);
  });
}

const published = { status: 'PUBLISHED', published_at: NOW, requested_at: NOW } as const;

test('a developer withdraws a version with a reason, and offers it again', async ({ page }) => {
  const recorded = await open(page, own, {
    role: 'developer',
    reviews: { reviews: [review({ current: '1.3.0', version: published })] },
  });
  await page.getByRole('button', { name: 'Withdraw version' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Withdraw version' }).click();
  await expect(dialog.getByRole('alert')).toBeVisible();
  await dialog.getByLabel('Reason').fill('It loses files.');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Withdraw version' }).click();
  await expect(page.getByText('Its developer has withdrawn this version.')).toBeVisible();
  await expect(page.getByRole('link', { name: 'View in the store' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Restore version' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Restore version' }).click();
  await expect(page.getByText('New installs get this version.')).toBeVisible();
  expect(stepsOf(recorded)).toEqual([{ step: 'yank', comment: 'It loses files.' }, { step: 'undo_yank' }]);
});

test('a developer rolls an app back to an earlier version', async ({ page }) => {
  const recorded = await open(page, own, {
    role: 'developer',
    reviews: { reviews: [review({ current: '1.4.0', app: { latest: '1.4.0' }, version: published })] },
  });
  await page.getByRole('button', { name: 'Roll back to this version' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back to this version' }).click();
  await expect(page.getByText('New installs get this version.')).toBeVisible();
  expect(stepsOf(recorded)).toEqual([{ step: 'roll_back' }]);
});

test('a developer schedules a publication, and cancels the schedule', async ({ page }) => {
  const recorded = await open(page, own, {
    role: 'developer',
    reviews: { reviews: [review({ need: null, app: { category_id: 'cat_media' }, version: { status: 'APPROVED' } })] },
  });
  await page.getByRole('button', { name: 'Schedule publication' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Schedule publication' }).click();
  await expect(dialog.getByRole('alert')).toHaveText('Choose a time within the next year.');
  await dialog.getByLabel('Publish at').fill('2026-12-01 08:00');
  await dialog.getByLabel('Publish at').press('Enter');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Schedule publication' }).click();
  await expect(page.getByText('Scheduled for')).toBeVisible();
  await expect(page.getByRole('list').filter({ hasText: 'scheduled the publication for' })).toBeVisible();
  await page.getByRole('button', { name: 'Cancel schedule' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel schedule' }).click();
  await expect(page.getByRole('button', { name: 'Schedule publication' })).toBeVisible();
  const [scheduled, ended] = stepsOf(recorded);
  expect(scheduled).toEqual({ step: 'schedule', publish_at: new Date('2026-12-01T08:00').toISOString() });
  expect(ended).toEqual({ step: 'unschedule' });
});

test('an administrator blocks an app, whose developer reads the reason, and unblocks it', async ({ page }) => {
  const recorded = await open(page, judged, {
    role: 'admin',
    reviews: { reviews: [review({ role: 'admin', current: '1.3.0', version: published })] },
  });
  await page.getByRole('button', { name: 'Block app', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('It sends passwords to strangers.');
  // A tablet that is turned shows the navigation in another way, and keeps the page with its dialog.
  const size = page.viewportSize();
  await page.setViewportSize({ width: 600, height: 900 });
  await expect(page.getByRole('navigation', { name: 'Console', includeHidden: true })).toHaveCount(0);
  await expect(dialog.getByLabel('Reason')).toHaveValue('It sends passwords to strangers.');
  if (size) await page.setViewportSize(size);
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Block app' }).click();
  await expect(page.getByText('Reason: It sends passwords to strangers.')).toBeVisible();
  await page.getByRole('button', { name: 'Unblock app' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Unblock app' }).click();
  await expect(page.getByRole('button', { name: 'Block app', exact: true })).toBeVisible();
  expect(stepsOf(recorded).map((step) => (step as { step: string }).step)).toEqual(['block', 'unblock']);
});

for (const display of displaySettings) {
  test(`a developer changes the settings of an app, in ${display.locale}, ${display.scheme}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    const { calls } = await serve(page, {
      signedIn: true,
      role: 'developer',
      reviews: { reviews: versionsOf('app_owner') },
    });
    await page.goto(`/developer/apps/${APP}`);
    const automatic = page.getByRole('switch', { name: /^Publish updates automatically$|^自动发布更新$/ });
    const listed = page.getByRole('switch', { name: /^Show the app in the store$|^在商店中展示此应用$/ });
    await expect(automatic).not.toBeChecked();
    await automatic.click();
    await expect(automatic).toBeChecked();
    await expect(page.getByText(/^Until |^有效期至/)).toBeVisible();
    await listed.click();
    await expect(listed).not.toBeChecked();
    await expectAccessible(page);
    const settings = calls.filter(({ method }) => method === 'PUT').map(({ body }) => body);
    expect(settings).toEqual([{ days: 365 }, { private: true }]);
  });
}
