import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Flex, Typography } from 'antd';
import type { UploadedApp } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { LinkButton } from '@/features/billing/link-button';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { usePagination } from '@/features/billing/use-pagination';
import { ownAppsQuery, REVIEW_PAGE_SIZE } from '@/features/reviews/queries';
import { BlockedTag } from '@/features/reviews/status';
import { useTexts } from '@/features/reviews/texts';
import { RequireDeveloper } from './require-developer';

/** The uploaded apps of the signed-in developer. */
export function OwnAppsPage({ page = 1 }: { page?: number }) {
  const { t } = useTexts();
  usePageTitle(t('apps.title'));
  return (
    <RequireDeveloper>
      <Flex vertical gap={24} align="stretch">
        <div style={{ maxWidth: 640 }}>
          <Typography.Title level={1}>{t('apps.title')}</Typography.Title>
          <Typography.Text type="secondary">{t('apps.lead')}</Typography.Text>
        </div>
        <OwnApps page={page} />
      </Flex>
    </RequireDeveloper>
  );
}

function OwnApps({ page }: { page: number }) {
  const { t } = useTexts();
  const { data, error, isPlaceholderData, refetch } = useQuery(ownAppsQuery(page));
  const pagination = usePagination(page, data?.count, REVIEW_PAGE_SIZE);
  if (error && !data) return <LoadError title={t('apps.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0)
    return (
      <EmptyState text={t('apps.empty')}>
        <p>{t('apps.emptyText')}</p>
        <LinkButton to="/developer/access-tokens">{t('apps.toTokens')}</LinkButton>
      </EmptyState>
    );
  return (
    <RecordTable<UploadedApp & { id: string }>
      label={t('apps.title')}
      list={data?.list.map((app) => ({ ...app, id: app.did })) ?? []}
      isLoading={!data || isPlaceholderData}
      pagination={pagination}
      columns={[
        {
          key: 'name',
          title: t('apps.name'),
          render: (_, app) => (
            <Flex gap={8} align="center" wrap style={{ overflowWrap: 'anywhere' }}>
              <Link to="/developer/apps/$did" params={{ did: app.did }}>
                {app.name}
              </Link>
              <BlockedTag app={app} />
            </Flex>
          ),
        },
        {
          key: 'latest',
          title: t('apps.latest'),
          render: (_, { did, name, latest }) => (
            <Link
              to="/developer/apps/$did/$version"
              params={{ did, version: latest }}
              aria-label={t('version.of', { name, version: latest })}
            >
              {latest}
            </Link>
          ),
        },
        {
          key: 'did',
          title: t('apps.did'),
          render: (_, { did }) => (
            <Typography.Text code style={{ overflowWrap: 'anywhere' }}>
              {did}
            </Typography.Text>
          ),
        },
      ]}
    />
  );
}
