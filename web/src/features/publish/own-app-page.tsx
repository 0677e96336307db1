import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Flex, Typography } from 'antd';
import { ApiError } from '@/api/error';
import type { UploadedVersion } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { BackLink } from '@/features/billing/back-link';
import { RecordTable } from '@/features/billing/record-table';
import { LoadError, PageResult } from '@/features/billing/states';
import { usePagination } from '@/features/billing/use-pagination';
import { DepositSection } from '@/features/reviews/deposit';
import { REVIEW_PAGE_SIZE, uploadsQuery } from '@/features/reviews/queries';
import { BlockedNote, VersionTag } from '@/features/reviews/status';
import { useTexts } from '@/features/reviews/texts';
import { useReviewEvents } from '@/features/reviews/use-review-events';
import { dateTimeText } from '@/lib/format';
import { AppPrice } from './app-price';
import { AppSettings } from './app-settings';
import { RequireDeveloper } from './require-developer';

interface OwnAppPageProps {
  did: string;
  page?: number;
}

/** An uploaded app of the signed-in developer with its versions. */
export function OwnAppPage(props: OwnAppPageProps) {
  return (
    <RequireDeveloper>
      <OwnApp {...props} />
    </RequireDeveloper>
  );
}

function OwnApp({ did, page = 1 }: OwnAppPageProps) {
  const { t, language } = useTexts();
  const { data, error, isPlaceholderData, refetch } = useQuery(uploadsQuery(did, page));
  const pagination = usePagination(page, data?.count, REVIEW_PAGE_SIZE);
  usePageTitle(data?.app.name ?? t('apps.title'));
  useReviewEvents(did);
  const back = <BackLink to="/developer/apps">{t('apps.title')}</BackLink>;
  const time = (at: string | null) => (at ? <time dateTime={at}>{dateTimeText(at, language)}</time> : '–');
  if (error instanceof ApiError && error.status === 404)
    return <PageResult status="warning" title={t('app.notFound')} text={t('version.notFoundText')} action={back} />;
  if (error && !data) return <LoadError title={t('app.error')} error={error} onRetry={() => void refetch()} />;
  return (
    <Flex vertical gap={24} align="stretch">
      {back}
      <Typography.Title level={1} style={{ margin: 0, overflowWrap: 'anywhere' }}>
        {data?.app.name ?? t('apps.title')}
      </Typography.Title>
      {data ? <BlockedNote app={data.app} /> : null}
      <RecordTable<UploadedVersion & { id: string }>
        label={t('versions.title')}
        list={data?.list.map((one) => ({ ...one, id: one.version })) ?? []}
        isLoading={!data || isPlaceholderData}
        pagination={pagination}
        columns={[
          {
            key: 'version',
            title: t('versions.version'),
            render: (_, { version }) => (
              <Link to="/developer/apps/$did/$version" params={{ did, version }}>
                {version}
              </Link>
            ),
          },
          { key: 'status', title: t('versions.status'), render: (_, version) => <VersionTag version={version} /> },
          { key: 'uploaded', title: t('facts.uploaded'), render: (_, { uploaded_at: at }) => time(at) },
          { key: 'requested', title: t('facts.requested'), render: (_, { requested_at: at }) => time(at) },
          { key: 'published', title: t('facts.published'), render: (_, { published_at: at }) => time(at) },
        ]}
      />
      {data ? (
        <>
          <DepositSection app={data.app} />
          <AppPrice did={data.app.did} />
          <AppSettings app={data.app} />
        </>
      ) : null}
    </Flex>
  );
}
