import type { UploadedApp, UploadedVersion, VersionReview } from '@/api/types';
import { compareVersions, isPreRelease } from './versions';

/** In the order of their buttons, so that the one that a page emphasizes comes first. */
export const REVIEW_STEPS = [
  'publish',
  'request',
  'schedule',
  'unschedule',
  'start',
  'approve',
  'request_changes',
  'reject',
  'grant_appeal',
  'deny_appeal',
  'appeal',
  'renew',
  'take_over',
  'cancel',
  'roll_back',
  'undo_yank',
  'yank',
  'unblock',
  'block',
  'keep_deposit',
  'comment',
] as const;
export type ReviewStep = (typeof REVIEW_STEPS)[number];

/** What a step, and its dialog, needs of an app and a version of it. */
export interface StepSubject {
  app: Pick<UploadedApp, 'did' | 'name' | 'category_id' | 'review_type'>;
  version: Pick<UploadedVersion, 'version'>;
  /** Of the user; none: an administrator. */
  role?: VersionReview['role'];
}

type Reviewed = Pick<VersionReview, 'app' | 'version' | 'role' | 'need' | 'current' | 'latest_published'>;

/** The claim of a review, from the view of a user. */
export type ClaimState = 'none' | 'mine' | 'mine_expired' | 'other' | 'other_expired';

export function claimState({ version }: Pick<Reviewed, 'version'>, userDid: string, now: number): ClaimState {
  const { status, claimed_by: by, claimed_until: until } = version;
  if (status !== 'IN_REVIEW' || !by || !until) return 'none';
  const isExpired = Date.parse(until) <= now;
  if (by === userDid) return isExpired ? 'mine_expired' : 'mine';
  return isExpired ? 'other_expired' : 'other';
}

/** Whether a higher version was uploaded: only the highest one is reviewed. */
export const isSuperseded = ({ app, version }: Pick<Reviewed, 'app' | 'version'>): boolean =>
  compareVersions(app.latest, version.version) > 0;

/** Whether a higher version was published, even if it was withdrawn later. */
export const isOutdated = ({
  version,
  latest_published: latest,
}: Pick<Reviewed, 'version' | 'latest_published'>): boolean =>
  latest !== null && compareVersions(latest, version.version) > 0;

/**
 * The steps that a user can take now, as the review of the server allows them (`publishing/review/machine`). The server
 * knows more, such as a reviewer who is excluded or the deposit for an app, and refuses these steps by name.
 */
export function availableSteps(review: Reviewed, userDid: string, now: number): ReviewStep[] {
  const steps = review.role === 'app_owner' ? ownerSteps(review) : reviewerSteps(review, userDid, now);
  steps.push(...moderationSteps(review));
  if (review.version.status !== 'DRAFT') steps.push('comment');
  return REVIEW_STEPS.filter((step) => steps.includes(step));
}

/** Steps that take a version or its app out of the store, or bring it back. */
function moderationSteps({ app, version, role, current }: Reviewed): ReviewStep[] {
  const isOwner = role === 'app_owner';
  const isAdmin = role === 'admin' || role === 'store_owner';
  const steps: ReviewStep[] = [];
  if (version.status === 'PUBLISHED' && (isOwner || isAdmin)) {
    if (version.yanked_by === null) {
      steps.push('yank');
      // New installs never get a pre-release, and none at all of a blocked app.
      const isReplaceable = app.block_reason === null && current !== null && current !== version.version;
      if (isReplaceable && !isPreRelease(version.version)) steps.push('roll_back');
    }
    // What the store has withdrawn, its developer does not bring back.
    else if (isAdmin || version.yanked_by === 'developer') steps.push('undo_yank');
  }
  if (isAdmin && app.block_reason === null) steps.push('block');
  if (isAdmin && app.block_reason !== null) steps.push('unblock', 'keep_deposit');
  return steps;
}

function ownerSteps(review: Reviewed): ReviewStep[] {
  const { status, appeal } = review.version;
  const steps: ReviewStep[] = [];
  if (status === 'DRAFT' && review.app.block_reason === null && !isSuperseded(review)) steps.push('request');
  if (status === 'PENDING_REVIEW' || status === 'IN_REVIEW' || status === 'APPROVED') steps.push('cancel');
  if (status === 'REJECTED' && appeal === null) steps.push('appeal');
  const isPublishable =
    status === 'APPROVED' || ((status === 'DRAFT' || status === 'PENDING_REVIEW') && review.need === null);
  const isWelcome = review.app.block_reason === null && !isOutdated(review);
  if (isPublishable && isWelcome) steps.push('publish');
  if (review.version.publish_at !== null) steps.push('unschedule');
  else if (isWelcome && isSchedulable(review, isPublishable)) steps.push('schedule');
  return steps;
}

/** A version that waits for its review is published after it. The first version without a review needs a category. */
function isSchedulable(review: Reviewed, isPublishable: boolean): boolean {
  const { app, version } = review;
  const { status } = version;
  const isOpen = status === 'DRAFT' || status === 'PENDING_REVIEW' || status === 'IN_REVIEW' || status === 'APPROVED';
  if (status === 'DRAFT' && !isPublishable && isSuperseded(review)) return false;
  return isOpen && (status === 'APPROVED' || !isPublishable || app.category_id !== null);
}

function reviewerSteps(review: Reviewed, userDid: string, now: number): ReviewStep[] {
  const { status, appeal, changes_requested: hasRequestedChanges, decided_by: decidedBy } = review.version;
  if (status === 'PENDING_REVIEW') return ['start'];
  if (status === 'REJECTED')
    // Somebody else decides about an appeal; the owner of the store is the last instance.
    return appeal === 'open' && (decidedBy !== userDid || review.role === 'store_owner')
      ? ['grant_appeal', 'deny_appeal']
      : [];
  if (status !== 'IN_REVIEW') return [];
  switch (claimState(review, userDid, now)) {
    case 'mine':
      return ['approve', 'reject', 'renew', ...(hasRequestedChanges ? [] : (['request_changes'] as const))];
    case 'mine_expired':
      return ['renew'];
    case 'other':
      return ['take_over'];
    default:
      return ['start'];
  }
}
