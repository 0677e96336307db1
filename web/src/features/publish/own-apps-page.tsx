import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Flex, Typography } from 'antd';
import type { DeveloperApp } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { LinkButton } from '@/features/billing/link-button';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { usePagination } from '@/features/billing/use-pagination';
import { AppKind, VisibilityText } from '@/features/reviews/app-facts';
import { ownAppsQuery, REVIEW_PAGE_SIZE } from '@/features/reviews/queries';
import { ShortCode } from '@/features/reviews/short-code';
import { BlockedTag, VersionTag } from '@/features/reviews/status';
import { ListedPrice } from '@/features/reviews/terms';
import { useTexts } from '@/features/reviews/texts';
import { useReviewEvents } from '@/features/reviews/use-review-events';
import { countText, dateText } from '@/lib/format';
import { RequireDeveloper } from './require-developer';

/** The uploaded apps of the signed-in developer. */
export function OwnAppsPage({ page = 1 }: { page?: number }) {
  const { t } = useTexts();
  usePageTitle(t('apps.title'));
  return (
    <RequireDeveloper>
      <Flex vertical gap={24} align="stretch">
        <Flex justify="space-between" align="start" gap={12} wrap>
          <div style={{ maxWidth: 640 }}>
            <Typography.Title level={1}>{t('apps.title')}</Typography.Title>
            <Typography.Text type="secondary">{t('apps.lead')}</Typography.Text>
          </div>
          <LinkButton to="/developer/earnings">{t('apps.toEarnings')}</LinkButton>
        </Flex>
        <OwnApps page={page} />
      </Flex>
    </RequireDeveloper>
  );
}

function OwnApps({ page }: { page: number }) {
  const { t, language } = useTexts();
  const { data, error, isPlaceholderData, refetch } = useQuery(ownAppsQuery(page));
  const pagination = usePagination(page, data?.count, REVIEW_PAGE_SIZE);
  useReviewEvents();
  if (error && !data) return <LoadError title={t('apps.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0)
    return (
      <EmptyState text={t('apps.empty')}>
        <p>{t('apps.emptyText')}</p>
        <LinkButton to="/developer/access-tokens">{t('apps.toTokens')}</LinkButton>
      </EmptyState>
    );
  return (
    <RecordTable<DeveloperApp & { id: string }>
      label={t('apps.title')}
      list={data?.list.map((app) => ({ ...app, id: app.did })) ?? []}
      isLoading={!data || isPlaceholderData}
      pagination={pagination}
      columns={[
        {
          key: 'name',
          title: t('apps.name'),
          render: (_, app) => (
            <Flex vertical gap={4} align="flex-start" style={{ minWidth: 140, overflowWrap: 'anywhere' }}>
              <Link to="/developer/apps/$did" params={{ did: app.did }}>
                {app.name}
              </Link>
              <BlockedTag app={app} />
              <AppKind type={app.latest_version.type} category={app.category_id} />
              <ShortCode text={app.did} />
            </Flex>
          ),
        },
        {
          key: 'latest',
          title: t('apps.latest'),
          render: (_, { did, name, latest_version: latest }) => (
            <Flex gap={8} align="center" wrap>
              <Link
                to="/developer/apps/$did/$version"
                params={{ did, version: latest.version }}
                aria-label={t('version.of', { name, version: latest.version })}
              >
                {latest.version}
              </Link>
              <VersionTag version={latest} />
            </Flex>
          ),
        },
        {
          key: 'published',
          title: t('facts.current'),
          render: (_, { version, published_at: at }) =>
            version ? <Dated text={version} at={at} /> : t('facts.noCurrent'),
        },
        { key: 'price', title: t('apps.price'), render: (_, { terms }) => <ListedPrice terms={terms} /> },
        {
          key: 'downloads',
          title: t('apps.downloads'),
          align: 'end',
          render: (_, { downloads }) => countText(downloads, language),
        },
        {
          key: 'visibility',
          title: t('visibility.title'),
          render: (_, { private: isPrivate }) => <VisibilityText isPrivate={isPrivate} />,
        },
        {
          key: 'auto',
          title: t('auto.title'),
          render: (_, { auto_publish_until: until }) =>
            until && Date.parse(until) > Date.now() ? t('auto.until', { date: dateText(until, language) }) : '–',
        },
        {
          key: 'created',
          title: t('apps.created'),
          render: (_, { created_at: at, latest_version: { source } }) => (
            <Flex vertical>
              <time dateTime={at}>{dateText(at, language)}</time>
              <Typography.Text type="secondary" title={t('apps.source')}>
                {t(`apps.source.${source}`)}
              </Typography.Text>
            </Flex>
          ),
        },
        {
          key: 'action',
          title: <span className="sr-only">{t('apps.action')}</span>,
          fixed: 'end',
          render: (_, app) => <AppLinks app={app} />,
        },
      ]}
    />
  );
}

/** A version with the day of its publication. */
function Dated({ text, at }: { text: string; at: string | null }) {
  const { language } = useTexts();
  return (
    <Flex vertical>
      <span>{text}</span>
      {at ? (
        <Typography.Text type="secondary">
          <time dateTime={at}>{dateText(at, language)}</time>
        </Typography.Text>
      ) : null}
    </Flex>
  );
}

/** What a developer does with an app, as links to where it is done. */
function AppLinks({ app: { did, name, latest_version: latest } }: { app: DeveloperApp }) {
  const { t } = useTexts();
  const { version } = latest;
  return (
    <Flex vertical gap={4} align="flex-start" style={{ whiteSpace: 'nowrap' }}>
      {latest.status === 'APPROVED' ? (
        <Link
          to="/developer/apps/$did/$version"
          params={{ did, version }}
          aria-label={t('apps.publishOf', { name, version })}
        >
          {t('step.publish')}
        </Link>
      ) : null}
      <Link to="/developer/apps/$did" params={{ did }} hash="price" aria-label={t('apps.pricingOf', { name })}>
        {t('apps.pricing')}
      </Link>
      <Link to="/developer/apps/$did" params={{ did }} hash="auto-publish" aria-label={t('apps.settingsOf', { name })}>
        {t('apps.settings')}
      </Link>
    </Flex>
  );
}
