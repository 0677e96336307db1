import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Flex, Segmented, Typography } from 'antd';
import type { QueuedVersion } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { usePagination } from '@/features/billing/use-pagination';
import { shortDid } from '@/features/reviews/people';
import { QUEUES, type Queue, queueQuery, REVIEW_PAGE_SIZE } from '@/features/reviews/queries';
import { VersionTag } from '@/features/reviews/status';
import { useTexts } from '@/features/reviews/texts';
import { useReviewEvents } from '@/features/reviews/use-review-events';
import { dateTimeText } from '@/lib/format';
import { RequireReviewer } from './require-reviewer';

interface ReviewsPageProps {
  filter?: Queue;
  page?: number;
}

/** The versions that wait for a reviewer, or those that were decided. */
export function ReviewsPage({ filter = 'open', page = 1 }: ReviewsPageProps) {
  const { t } = useTexts();
  const navigate = useNavigate();
  usePageTitle(t('queue.title'));
  const show = (next: Queue) =>
    void navigate({ to: '/console/reviews', search: { filter: next === 'open' ? undefined : next } });
  return (
    <RequireReviewer>
      <Flex vertical gap={24} align="stretch">
        <div>
          <Typography.Title level={1}>{t('queue.title')}</Typography.Title>
          <Typography.Text type="secondary">{t('queue.lead')}</Typography.Text>
        </div>
        <div>
          <Segmented<Queue>
            aria-label={t('queue.shown')}
            value={filter}
            onChange={show}
            options={QUEUES.map((value) => ({ value, label: t(`queue.show.${value}`) }))}
          />
        </div>
        <QueueTable filter={filter} page={page} />
      </Flex>
    </RequireReviewer>
  );
}

function QueueTable({ filter, page }: Required<ReviewsPageProps>) {
  const { t, language } = useTexts();
  const userDid = useUser()?.did;
  const { data, error, isPlaceholderData, refetch } = useQuery(queueQuery(filter, page));
  const pagination = usePagination(page, data?.count, REVIEW_PAGE_SIZE);
  useReviewEvents();
  const time = (at: string | null) => (at ? <time dateTime={at}>{dateTimeText(at, language)}</time> : '–');
  if (error && !data) return <LoadError title={t('queue.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0) return <EmptyState text={t(`queue.empty.${filter}`)} />;
  const isOpen = filter === 'open';
  return (
    <RecordTable<QueuedVersion & { id: string }>
      label={t('queue.title')}
      list={data?.list.map((one) => ({ ...one, id: `${one.app_did} ${one.version.version}` })) ?? []}
      isLoading={!data || isPlaceholderData}
      pagination={pagination}
      columns={[
        {
          key: 'app',
          title: t('apps.name'),
          render: (_, { app_did: did, app_name: name, version: { version } }) => (
            <Link
              to="/console/reviews/$did/$version"
              params={{ did, version }}
              style={{ overflowWrap: 'anywhere' }}
              aria-label={t('version.of', { name, version })}
            >
              {name}
            </Link>
          ),
        },
        {
          key: 'developer',
          title: t('facts.developer'),
          render: (_, { owner, developer_name: name }) => (
            <span title={owner} style={{ overflowWrap: 'anywhere' }}>
              {name || shortDid(owner)}
            </span>
          ),
        },
        { key: 'version', title: t('versions.version'), render: (_, { version }) => version.version },
        { key: 'status', title: t('versions.status'), render: (_, { version }) => <VersionTag version={version} /> },
        {
          key: 'reason',
          title: t('queue.reason'),
          render: (_, { reason }) => t(`queue.reason.${reason ?? 'none'}`),
        },
        {
          key: 'requested',
          title: t(isOpen ? 'queue.waitsSince' : 'facts.requested'),
          render: (_, { version }) => time(version.requested_at),
        },
        {
          key: 'reviewer',
          title: t(isOpen ? 'facts.claimed' : 'facts.decided'),
          render: (_, { version, reviewer_name: name }) => {
            const did = isOpen ? version.claimed_by : version.decided_by;
            if (!did) return '–';
            return did === userDid ? t('person.you') : <span title={did}>{name || shortDid(did)}</span>;
          },
        },
        {
          key: 'appeal',
          title: t('queue.appeal'),
          render: (_, { version: { appeal } }) => (appeal ? t(`appeal.${appeal}`) : '–'),
        },
      ]}
    />
  );
}
