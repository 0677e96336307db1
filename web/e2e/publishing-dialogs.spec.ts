import { expect, test } from '@playwright/test';
import { expectAccessible } from './fixtures/axe';
import { accessToken, user } from './fixtures/data';
import { applyDisplaySettings, displaySettings } from './fixtures/display-settings';
import { APP, claimed, NOW, REVIEWER, review } from './fixtures/reviews';
import { type ServerOptions, serve } from './fixtures/server';
import { deposit, staking, standingOf } from './fixtures/staking';
import { keysRequest, toolPath } from './fixtures/tools';
import { type Translate, translatorFor } from './server/translate';

/** Dialogs that other tests open in English only, and pages that they use without looking at each language. */

test.beforeEach(({ page }) => page.clock.setFixedTime(NOW));

type Name = Parameters<Translate>[0];
/** The title of the dialog that a button opens. */
const titleOf = (button: Name): Name => {
  if (button === 'join:leave.action') return 'join:leave.confirm';
  if (button === 'reviews:deposit.take') return 'reviews:deposit.takeTitle';
  return button.replace(':step.', ':dialog.').replace(/Of$/, 'Title') as Name;
};
/** The buttons of a page that open a dialog. */
type Opening = [path: string, buttons: Name[]];

const own = `/developer/apps/${APP}`;
const judged = `/console/reviews/${APP}`;
const app = { latest: '1.4.0' };
const published = { status: 'PUBLISHED', published_at: NOW } as const;
const held = { ...staking.deposit, complete: true, stake: deposit('publication', { app_did: APP }) };
const member = standingOf({
  agreed_at: NOW,
  developer_since: NOW,
  by_deposit: true,
  deposit: deposit('membership', { developer_did: user.did }),
});

const DEVELOPER: [ServerOptions, Opening[]] = [
  {
    role: 'developer',
    billing: { accessTokens: [accessToken()] },
    staking: { ...staking, standing: member, deposit: held },
    reviews: {
      reviews: [
        review({ app, current: '1.4.0', version: { ...published, version: '1.0.0' } }),
        review({ app, current: '1.4.0', version: { ...published, version: '1.1.0', yanked_by: 'developer' } }),
        review({ app, version: { version: '1.2.0', status: 'REJECTED', decided_by: REVIEWER } }),
        review({ app, version: { version: '1.3.0', status: 'PENDING_REVIEW' } }),
        review({
          app,
          need: null,
          version: { version: '1.4.0', status: 'APPROVED', publish_at: '2026-12-01T08:00:00Z' },
        }),
      ],
    },
  },
  [
    [`${own}/1.0.0`, ['reviews:step.yank', 'reviews:step.roll_back']],
    [`${own}/1.1.0`, ['reviews:step.undo_yank']],
    [`${own}/1.2.0`, ['reviews:step.appeal']],
    [`${own}/1.3.0`, ['reviews:step.cancel', 'reviews:step.schedule']],
    [`${own}/1.4.0`, ['reviews:step.publish', 'reviews:step.unschedule']],
    [own, ['reviews:deposit.take']],
    ['/developer/access-tokens', ['publish:tokens.deleteOf']],
    ['/profile', ['join:leave.action']],
  ],
];

const appealed = { status: 'REJECTED', appeal: 'open', decided_by: REVIEWER, claimed_by: null } as const;
const REVIEWERS: [ServerOptions, Opening[]] = [
  {
    role: 'reviewer',
    reviews: {
      reviews: [
        claimed({ version: { ...appealed, version: '1.1.0' } }),
        claimed({ version: { version: '1.2.0', claimed_by: REVIEWER } }),
        claimed(),
      ],
    },
  },
  [
    [`${judged}/1.1.0`, ['reviews:step.grant_appeal', 'reviews:step.deny_appeal']],
    [`${judged}/1.2.0`, ['reviews:step.take_over']],
    [`${judged}/1.3.0`, ['reviews:step.request_changes', 'reviews:step.reject']],
  ],
];

const blocked = { owner: REVIEWER, block_reason: 'It sends passwords to strangers' };
const OWNER: [ServerOptions, Opening[]] = [
  {
    role: 'owner',
    staking: { ...staking, deposit: held, blocked: [{ did: 'z1sam', name: 'Sam Lee', blocked_at: NOW }] },
    reviews: {
      reviews: [
        review({ role: 'store_owner', app: blocked, version: { ...published, version: '1.2.0' } }),
        review({ role: 'store_owner', app: { owner: REVIEWER }, current: '1.3.0', version: published }),
      ],
    },
  },
  [
    [`${judged}/1.2.0`, ['reviews:step.unblock', 'reviews:step.keep_deposit']],
    [`${judged}/1.3.0`, ['reviews:step.block']],
    [
      '/console/developers',
      [
        'people:developers.revokeOf',
        'people:developers.blockOf',
        'people:blocked.unblockOf',
        'people:invitations.revokeOf',
      ],
    ],
  ],
];

for (const display of displaySettings) {
  const translate = translatorFor(display.locale);
  const settings = `${display.locale}, ${display.scheme}`;

  for (const [options, screens] of [DEVELOPER, REVIEWERS, OWNER]) {
    test(`the dialogs of a ${options.role} have no accessibility fault in ${settings}`, async ({ page }) => {
      test.setTimeout(90_000);
      await applyDisplaySettings(page, display);
      await serve(page, { signedIn: true, ...options });
      for (const [path, buttons] of screens) {
        await page.goto(path);
        for (const name of buttons) {
          await page
            .getByRole('button', { name: translate(name) })
            .first()
            .click();
          await expect(page.getByRole('dialog', { name: translate(titleOf(name)) })).toBeVisible();
          await expectAccessible(page);
          await page.keyboard.press('Escape');
          await expect(page.getByRole('dialog')).toHaveCount(0);
        }
      }
    });
  }

  test(`a request of the command line is shown and denied, in ${settings}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, role: 'developer' });
    await page.goto(toolPath('connect-cli'));
    await expect(page.getByText('2EZ4-ZTQA')).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: translate('publish:tool.deny') }).click();
    await expect(page.getByRole('heading', { level: 1, name: translate('publish:tool.denied') })).toBeVisible();
    await expectAccessible(page);
  });

  test(`a user creates keys for apps, in ${settings}`, async ({ page }) => {
    await applyDisplaySettings(page, display);
    await serve(page, { signedIn: true, tool: { request: keysRequest } });
    await page.goto(toolPath('gen-key-pair'));
    await expect(page.getByText('orbit')).toBeVisible();
    await expectAccessible(page);
    await page.getByRole('button', { name: translate('publish:tool.keysCreate') }).click();
    await expect(page.getByText(/^z2q/).first()).toBeVisible();
    await expectAccessible(page);
  });
}
