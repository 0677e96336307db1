import type { VersionReview, VersionStatus } from '@/api/types';
import { claimState, isOutdated, isSuperseded } from './steps';
import type { Key } from './texts';

/** What the status of a version means for the user, and what comes next. */
export interface Meaning {
  type: 'info' | 'success' | 'warning' | 'error';
  key: Key;
  values?: Record<string, string>;
}

const info = (key: Key, values?: Record<string, string>): Meaning => ({ type: 'info', key, values });
const warning = (key: Key, values?: Record<string, string>): Meaning => ({ type: 'warning', key, values });
const success = (key: Key, values?: Record<string, string>): Meaning => ({ type: 'success', key, values });
const failure = (key: Key): Meaning => ({ type: 'error', key });

/**
 * null: the app is blocked, so that a published version means nothing to new installs. Its developer cannot publish a
 * draft, a version that waits for its review or an approved one either.
 */
export const meaningOf = (review: VersionReview, userDid: string, now: number): Meaning | null =>
  review.role === 'app_owner' ? ownerMeaning(review) : reviewerMeaning(review, userDid, now);

/** The statuses whose next step is not possible while the app is blocked. */
const STOPPED_BY_BLOCK: readonly VersionStatus[] = ['DRAFT', 'PENDING_REVIEW', 'APPROVED'];

function ownerMeaning(review: VersionReview): Meaning | null {
  const { app, version, latest_published: latest, need, published_by_store: isByStore } = review;
  if (app.block_reason !== null && STOPPED_BY_BLOCK.includes(version.status)) return null;
  switch (version.status) {
    case 'DRAFT':
      if (isOutdated(review)) return warning('owner.outdated', { version: latest ?? '' });
      if (need === null) return success(isByStore ? 'owner.readyByStore' : 'owner.ready');
      return isSuperseded(review) ? warning('owner.superseded', { version: app.latest }) : info('owner.draft');
    case 'PENDING_REVIEW':
      return need === null ? success(isByStore ? 'owner.readyByStore' : 'owner.ready') : info('owner.pending');
    case 'IN_REVIEW':
      return version.changes_requested ? warning('owner.changes') : info('owner.inReview');
    case 'APPROVED':
      if (isOutdated(review)) return warning('owner.outdated', { version: latest ?? '' });
      return success(isByStore ? 'owner.approvedByStore' : 'owner.approved');
    case 'REJECTED':
      if (version.appeal === 'open') return info('owner.appealOpen');
      if (version.appeal === 'granted') return success('owner.appealGranted');
      return failure(version.appeal === 'denied' ? 'owner.appealDenied' : 'owner.rejected');
    case 'PUBLISHED':
      return publishedMeaning(review);
    case 'CANCELLED':
      return cancelledMeaning(review, 'owner.cancelled');
  }
}

function reviewerMeaning(review: VersionReview, userDid: string, now: number): Meaning | null {
  const { version, role } = review;
  switch (version.status) {
    case 'DRAFT':
      return info('reviewer.draft');
    case 'PENDING_REVIEW':
      return info('reviewer.pending');
    case 'IN_REVIEW':
      return inReviewMeaning(review, userDid, now);
    case 'APPROVED':
      return success('reviewer.approved');
    case 'REJECTED':
      if (version.appeal === 'open')
        return version.decided_by === userDid && role !== 'store_owner'
          ? info('reviewer.appealOfYours')
          : warning('reviewer.appealOpen');
      if (version.appeal === 'granted') return info('reviewer.appealGranted');
      return info(version.appeal === 'denied' ? 'reviewer.appealDenied' : 'reviewer.rejected');
    case 'PUBLISHED':
      return publishedMeaning(review);
    case 'CANCELLED':
      return cancelledMeaning(review, 'reviewer.cancelled');
  }
}

function inReviewMeaning(review: VersionReview, userDid: string, now: number): Meaning {
  const claim = claimState(review, userDid, now);
  if (claim === 'mine_expired') return warning('reviewer.mineExpired');
  if (claim === 'other_expired' || claim === 'none') return warning('reviewer.otherExpired');
  if (review.version.changes_requested) return info('reviewer.changes');
  return info(claim === 'mine' ? 'reviewer.mine' : 'reviewer.other');
}

function publishedMeaning({ app, version, current }: VersionReview): Meaning | null {
  // Nobody installs a blocked app.
  if (app.block_reason !== null) return null;
  if (current === null) return info('published.preRelease');
  return current === version.version ? success('published.current') : info('published.other', { version: current });
}

const cancelledMeaning = ({ version }: VersionReview, otherwise: Key): Meaning =>
  version.replaced_by === null ? info(otherwise) : info('replaced', { version: version.replaced_by });
