import { describe, expect, it } from 'vitest';
import type { ReviewRole, UploadedApp, UploadedVersion, VersionReview, VersionStatus } from '@/api/types';
import { uploadedApp, uploadedVersion } from '../../../e2e/fixtures/reviews';
import { meaningOf } from './meaning';
import { availableSteps, claimState } from './steps';

const ME = 'z1Me';
const OTHER = 'z1Other';
const NOW = Date.parse('2026-11-20T09:30:00.000Z');
const LATER = '2026-11-20T10:00:00.000Z';
const EARLIER = '2026-11-20T09:00:00.000Z';

interface Changes extends Partial<Omit<VersionReview, 'app' | 'version'>> {
  app?: Partial<UploadedApp>;
  version?: Partial<UploadedVersion>;
}

const review = (role: ReviewRole, status: VersionStatus, changes: Changes = {}): VersionReview => ({
  role,
  developer_name: 'Mei Lin',
  need: 'first_version',
  current: null,
  latest_published: null,
  base: null,
  published_by_store: false,
  differences: { permissions: [], scripts: [], hosts: [], price: false },
  thread: [],
  ...changes,
  app: uploadedApp({ latest: '1.1.0', ...changes.app }),
  version: uploadedVersion({ version: '1.1.0', status, ...changes.version }),
});
const claimedBy = (did: string, until = LATER, changes = {}) => ({
  version: { claimed_by: did, claimed_until: until, ...changes },
});
const rejected = (appeal: UploadedVersion['appeal'], by = OTHER) => ({ version: { appeal, decided_by: by } });

type Case = [role: ReviewRole, status: VersionStatus, what: string, changes: Changes, steps: string];

describe('the steps that a user can take', () => {
  it.each<Case>([
    ['app_owner', 'DRAFT', 'needs a review', {}, 'request schedule'],
    ['app_owner', 'DRAFT', 'needs none', { need: null }, 'publish request'],
    ['app_owner', 'DRAFT', 'is blocked', { need: null, app: { block_reason: 'harmful' } }, ''],
    ['app_owner', 'DRAFT', 'is superseded', { app: { latest: '1.2.0' } }, ''],
    ['app_owner', 'DRAFT', 'is superseded but needs no review', { need: null, app: { latest: '1.2.0' } }, 'publish'],
    ['app_owner', 'DRAFT', 'is outdated', { need: null, latest_published: '1.2.0', app: { latest: '1.2.0' } }, ''],
    ['app_owner', 'PENDING_REVIEW', 'needs a review', {}, 'schedule cancel comment'],
    ['app_owner', 'PENDING_REVIEW', 'needs none any more', { need: null }, 'publish cancel comment'],
    ['app_owner', 'IN_REVIEW', 'needs none any more', { need: null }, 'schedule cancel comment'],
    ['app_owner', 'APPROVED', 'follows a lower one', { current: '1.0.0' }, 'publish schedule cancel comment'],
    ['app_owner', 'APPROVED', 'is outdated', { latest_published: '1.1.1' }, 'cancel comment'],
    [
      'app_owner',
      'APPROVED',
      'is outdated by a version that was rolled back',
      { current: '1.0.0', latest_published: '1.1.1' },
      'cancel comment',
    ],
    ['app_owner', 'REJECTED', 'was not appealed', {}, 'appeal comment'],
    ['app_owner', 'REJECTED', 'was appealed', rejected('denied'), 'comment'],
    ['app_owner', 'PUBLISHED', 'is current', { current: '1.1.0' }, 'yank comment'],
    ['app_owner', 'PUBLISHED', 'is not current', { current: '1.2.0' }, 'roll_back yank comment'],
    [
      'app_owner',
      'PUBLISHED',
      'is not current, and the app is blocked',
      { current: '1.2.0', app: { block_reason: 'harmful' } },
      'yank comment',
    ],
    [
      'app_owner',
      'PUBLISHED',
      'is a pre-release',
      { current: '1.2.0', version: { version: '1.3.0-beta' } },
      'yank comment',
    ],
    [
      'app_owner',
      'PUBLISHED',
      'is a pre-release of an app that has only these',
      { version: { version: '1.1.0-beta' } },
      'yank comment',
    ],
    ['app_owner', 'PUBLISHED', 'was withdrawn', { version: { yanked_by: 'developer' } }, 'undo_yank comment'],
    ['app_owner', 'PUBLISHED', 'was withdrawn by the store', { version: { yanked_by: 'store' } }, 'comment'],
    ['app_owner', 'APPROVED', 'is scheduled', { version: { publish_at: LATER } }, 'publish unschedule cancel comment'],
    ['app_owner', 'CANCELLED', 'is done', {}, 'comment'],
    ['reviewer', 'DRAFT', 'was not requested', {}, ''],
    ['reviewer', 'PENDING_REVIEW', 'waits', {}, 'start comment'],
    ['reviewer', 'IN_REVIEW', 'is mine', claimedBy(ME), 'approve request_changes reject renew comment'],
    [
      'reviewer',
      'IN_REVIEW',
      'is mine and waits for changes',
      claimedBy(ME, LATER, { changes_requested: true }),
      'approve reject renew comment',
    ],
    ['reviewer', 'IN_REVIEW', 'was mine', claimedBy(ME, EARLIER), 'renew comment'],
    ['admin', 'IN_REVIEW', "is somebody else's", claimedBy(OTHER), 'take_over block comment'],
    ['admin', 'IN_REVIEW', "was somebody else's", claimedBy(OTHER, EARLIER), 'start block comment'],
    ['reviewer', 'APPROVED', 'is done', {}, 'comment'],
    ['reviewer', 'REJECTED', 'was appealed', rejected('open'), 'grant_appeal deny_appeal comment'],
    ['reviewer', 'REJECTED', 'was rejected by me', rejected('open', ME), 'comment'],
    ['store_owner', 'REJECTED', 'was rejected by me', rejected('open', ME), 'grant_appeal deny_appeal block comment'],
    ['reviewer', 'REJECTED', 'has a decided appeal', rejected('granted'), 'comment'],
    ['admin', 'PUBLISHED', 'is current', { current: '1.1.0' }, 'yank block comment'],
    [
      'admin',
      'PUBLISHED',
      'was withdrawn by the store',
      { version: { yanked_by: 'store' } },
      'undo_yank block comment',
    ],
    [
      'admin',
      'PENDING_REVIEW',
      'is blocked',
      { app: { block_reason: 'harmful' } },
      'start unblock keep_deposit comment',
    ],
    ['store_owner', 'CANCELLED', 'is done', {}, 'block comment'],
  ])('%s, %s: %s', (role, status, _, changes, steps) => {
    expect(availableSteps(review(role, status, changes), ME, NOW).join(' ')).toBe(steps);
  });
});

it('a claim ends at its time', () => {
  const claimed = review('reviewer', 'IN_REVIEW', claimedBy(ME));
  expect(claimState(claimed, ME, Date.parse(LATER) - 1)).toBe('mine');
  expect(claimState(claimed, ME, Date.parse(LATER))).toBe('mine_expired');
  expect(claimState(claimed, OTHER, NOW)).toBe('other');
  expect(claimState(review('reviewer', 'PENDING_REVIEW'), ME, NOW)).toBe('none');
});

describe('the meaning of a status', () => {
  it.each<[ReviewRole, VersionStatus, Changes, string | null]>([
    ['app_owner', 'DRAFT', {}, 'owner.draft'],
    ['app_owner', 'DRAFT', { need: null }, 'owner.ready'],
    ['app_owner', 'DRAFT', { app: { latest: '1.1.1' } }, 'owner.superseded'],
    ['app_owner', 'DRAFT', { latest_published: '1.1.1', app: { latest: '1.1.1' } }, 'owner.outdated'],
    ['app_owner', 'APPROVED', {}, 'owner.approved'],
    ['app_owner', 'APPROVED', { published_by_store: true }, 'owner.approvedByStore'],
    ['app_owner', 'IN_REVIEW', { version: { changes_requested: true } }, 'owner.changes'],
    ['app_owner', 'REJECTED', rejected('open'), 'owner.appealOpen'],
    ['app_owner', 'CANCELLED', { version: { replaced_by: '1.2.0' } }, 'replaced'],
    ['app_owner', 'CANCELLED', {}, 'owner.cancelled'],
    ['reviewer', 'IN_REVIEW', claimedBy(ME), 'reviewer.mine'],
    ['reviewer', 'IN_REVIEW', claimedBy(ME, EARLIER), 'reviewer.mineExpired'],
    ['reviewer', 'IN_REVIEW', claimedBy(OTHER, EARLIER), 'reviewer.otherExpired'],
    ['reviewer', 'IN_REVIEW', claimedBy(OTHER, LATER, { changes_requested: true }), 'reviewer.changes'],
    ['reviewer', 'REJECTED', rejected('open', ME), 'reviewer.appealOfYours'],
    ['store_owner', 'REJECTED', rejected('open', ME), 'reviewer.appealOpen'],
    ['reviewer', 'PUBLISHED', { current: '1.2.0' }, 'published.other'],
    ['reviewer', 'PUBLISHED', { current: '1.1.0' }, 'published.current'],
    ['app_owner', 'PUBLISHED', { current: null, version: { version: '1.1.0-beta' } }, 'published.preRelease'],
    ['app_owner', 'PUBLISHED', { current: '1.1.0', app: { block_reason: 'harmful' } }, null],
    ['app_owner', 'DRAFT', { need: null, app: { block_reason: 'harmful' } }, null],
    ['app_owner', 'PENDING_REVIEW', { app: { block_reason: 'harmful' } }, null],
    ['app_owner', 'APPROVED', { app: { block_reason: 'harmful' } }, null],
  ])('%s, %s %j: %s', (role, status, changes, key) => {
    expect(meaningOf(review(role, status, changes), ME, NOW)?.key ?? null).toBe(key);
  });
});
