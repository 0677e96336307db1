import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Flex, Typography } from 'antd';
import { type ReactNode, useRef } from 'react';
import { ApiError } from '@/api/error';
import type { VersionReview } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { queryClient, useUser } from '@/app/queries';
import { Note } from '@/features/billing/dialog';
import { LoadError, Loading, PageResult } from '@/features/billing/states';
import { announce } from '@/kit/announce';
import { Actions } from './actions';
import { Checks } from './checks';
import { Comparison } from './comparison';
import { canBeKept } from './deposit';
import { Differences } from './differences';
import { Facts } from './facts';
import { InstallCommand } from './install-command';
import { meaningOf } from './meaning';
import { appDepositQuery, reloadReviews, reviewQuery, type StepInput } from './queries';
import styles from './reviews.module.css';
import { BlockedNote, VersionTag } from './status';
import { availableSteps } from './steps';
import { useTexts } from './texts';
import { Thread } from './thread';
import { useNow } from './use-now';
import { useReviewEvents } from './use-review-events';

interface VersionViewProps {
  did: string;
  version: string;
  /** The link to the list that the version belongs to. */
  back: ReactNode;
}

/** A version with its review, for its developer and for reviewers: the server says in which role the user acts. */
export function VersionView({ did, version, back }: VersionViewProps) {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(reviewQuery(did, version));
  usePageTitle(data ? `${data.app.name} ${data.version.version}` : t('version.title'));
  useReviewEvents(did);
  if (data) return <Loaded review={data} back={back} />;
  if (error instanceof ApiError && error.status === 404)
    return <PageResult status="warning" title={t('version.notFound')} text={t('version.notFoundText')} action={back} />;
  if (error) return <LoadError title={t('version.error')} error={error} onRetry={() => void refetch()} />;
  return <Loading title rows={8} />;
}

function Loaded({ review, back }: { review: VersionReview; back: ReactNode }) {
  const { t } = useTexts();
  const { app, version, role, need } = review;
  const userDid = useUser()?.did ?? '';
  const now = useNow(version.claimed_until);
  const status = useRef<HTMLElement>(null);
  const possible = availableSteps(review, userDid, now);
  const deposit = useQuery({ ...appDepositQuery(app.did), enabled: possible.includes('keep_deposit') }).data;
  const steps = possible.filter((step) => step !== 'keep_deposit' || canBeKept(deposit));
  const meaning = meaningOf(review, userDid, now);
  const isOpen = version.status === 'DRAFT' || version.status === 'PENDING_REVIEW' || version.status === 'IN_REVIEW';
  const isInStore = version.status === 'PUBLISHED' && version.yanked_by === null && app.block_reason === null;
  const show = (changed: VersionReview) => {
    queryClient.setQueryData(reviewQuery(app.did, version.version).queryKey, changed);
    reloadReviews(changed.version.status === 'PUBLISHED' || changed.current !== null);
  };
  const done = (changed: VersionReview, { step }: StepInput) => {
    show(changed);
    announce(t(`done.${step}`, { version: version.version }));
    // The button of the step is gone. The dialog gives the focus back in the next frame.
    requestAnimationFrame(() => requestAnimationFrame(() => status.current?.focus()));
  };
  return (
    <div className={styles.page}>
      <div className={styles.head}>
        {back}
        <Flex vertical gap={8} align="flex-start">
          <Typography.Title level={1} style={{ margin: 0, overflowWrap: 'anywhere' }}>
            {app.name} {version.version}
          </Typography.Title>
          <VersionTag version={version} />
        </Flex>
        <section ref={status} tabIndex={-1} aria-label={t('versions.status')} className={styles.status}>
          <Flex vertical gap={12}>
            <BlockedNote app={app} />
            {version.yanked_by ? <Note type="warning" title={t(`version.yanked.${version.yanked_by}`)} /> : null}
            {version.yanked_by === null && meaning ? (
              <Note
                type={meaning.type}
                title={t(meaning.key, meaning.values)}
                description={isOpen && need ? t(`need.${need}`) : undefined}
              />
            ) : null}
          </Flex>
        </section>
        <Actions review={review} steps={steps} onDone={done} />
        {isInStore ? (
          <Link to="/apps/$did/{-$version}" params={{ did: app.did, version: version.version }}>
            {t('version.toStore')}
          </Link>
        ) : null}
        <InstallCommand review={review} />
      </div>
      <Facts review={review} userDid={userDid} />
      <Differences review={review} />
      <Checks did={app.did} version={version.version} />
      <Comparison did={app.did} version={version.version} />
      <Thread
        key={`${app.did} ${version.version} ${role}`}
        review={review}
        canComment={steps.includes('comment')}
        onCommented={show}
      />
    </div>
  );
}
