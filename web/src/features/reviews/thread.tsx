import { Flex, Typography } from 'antd';
import type { ReviewEntry, VersionReview } from '@/api/types';
import { Section } from '@/features/billing/states';
import { dateTimeText } from '@/lib/format';
import { CommentForm } from './comment-form';
import { actorText, roleText } from './people';
import styles from './reviews.module.css';
import { blockReason } from './status';
import { type Key, type Texts, useTexts } from './texts';

const KINDS: Record<string, Key> = {
  requested: 'thread.requested',
  started: 'thread.started',
  renewed: 'thread.renewed',
  taken_over: 'thread.taken_over',
  commented: 'thread.commented',
  changes_requested: 'thread.changes_requested',
  approved: 'thread.approved',
  rejected: 'thread.rejected',
  cancelled: 'thread.cancelled',
  appealed: 'thread.appealed',
  appeal_granted: 'thread.appeal_granted',
  appeal_denied: 'thread.appeal_denied',
  published: 'thread.published',
  unscheduled: 'thread.unscheduled',
  not_published: 'thread.not_published',
  yanked: 'thread.yanked',
  yank_undone: 'thread.yank_undone',
  rolled_back: 'thread.rolled_back',
  app_blocked: 'thread.app_blocked',
  app_unblocked: 'thread.app_unblocked',
  deposit_kept: 'thread.deposit_kept',
};

interface ThreadProps {
  review: VersionReview;
  canComment: boolean;
  onCommented: (review: VersionReview) => void;
}

/** What was done and said about a version, oldest first, and a field for a comment. */
export function Thread({ review, canComment, onCommented }: ThreadProps) {
  const { t } = useTexts();
  return (
    <Section id="thread" title={t('thread.title')}>
      <Flex vertical gap={24}>
        {review.thread.length === 0 ? (
          <Typography.Text type="secondary">{t('thread.empty')}</Typography.Text>
        ) : (
          <ol className={styles.thread}>
            {review.thread.map((entry) => (
              <Entry key={entry.id} entry={entry} />
            ))}
          </ol>
        )}
        {canComment ? <CommentForm review={review} onCommented={onCommented} /> : null}
      </Flex>
    </Section>
  );
}

/** The comment of these steps is a value. */
const VALUE_KINDS = ['replaced', 'scheduled'];

function actionText({ kind, comment }: ReviewEntry, { t, language }: Pick<Texts, 't' | 'language'>): string {
  if (kind === 'replaced') return t('replaced', { version: comment });
  if (kind === 'scheduled') return t('thread.scheduled', { time: dateTimeText(comment, language) });
  const key = KINDS[kind];
  return key ? t(key) : kind;
}

/** Why the store has not published the version by itself: the comment of the entry is a code. */
const UNPUBLISHED: Record<string, Key> = {
  checks_failed: 'unpublished.checks_failed',
  not_developer: 'unpublished.not_developer',
  deposit_required: 'unpublished.deposit_required',
  blocked_content: 'unpublished.blocked_content',
  terms: 'unpublished.terms',
  app_blocked: 'unpublished.app_blocked',
  outdated: 'unpublished.outdated',
};

function commentText({ kind, comment }: ReviewEntry, t: Texts['t']): string {
  if (kind === 'not_published') return t(UNPUBLISHED[comment] ?? 'unpublished.other');
  return kind === 'app_blocked' ? blockReason(comment, t) : comment;
}

function Entry({ entry }: { entry: ReviewEntry }) {
  const { t, language } = useTexts();
  return (
    <li>
      <Flex gap="0 12px" wrap align="baseline">
        <Typography.Text strong>{actorText(entry, t)}</Typography.Text>
        {entry.role === 'system' ? null : <Typography.Text type="secondary">{roleText(entry.role, t)}</Typography.Text>}
        <span>{actionText(entry, { t, language })}</span>
        <Typography.Text type="secondary">
          <time dateTime={entry.at}>{dateTimeText(entry.at, language)}</time>
        </Typography.Text>
      </Flex>
      {entry.comment && !VALUE_KINDS.includes(entry.kind) ? (
        <p className={styles.comment}>{commentText(entry, t)}</p>
      ) : null}
    </li>
  );
}
