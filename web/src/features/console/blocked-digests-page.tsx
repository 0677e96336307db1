import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Button, Flex, type TablePaginationConfig, Typography } from 'antd';
import { useState } from 'react';
import type { BlockedDigest } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { Note } from '@/features/billing/dialog';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { usePagination } from '@/features/billing/use-pagination';
import { announce } from '@/kit/announce';
import { dateText } from '@/lib/format';
import { BlockDigestDialog } from './block-digest-dialog';
import { blockedDigestsQuery, reloadDigests, shortDigest, unblockDigest } from './blocked-digests';
import { ContainingVersionsDialog } from './containing-versions-dialog';
import { KeywordSearch } from './keyword-search';
import { CONSOLE_PAGE_SIZE } from './queries';
import { RequireAdmin } from './require-admin';
import { useTexts } from './texts';

interface BlockedDigestsPageProps {
  keyword?: string;
  page?: number;
}

type Shown = { dialog: 'block' } | { dialog: 'edit' | 'unblock' | 'versions'; blocked: BlockedDigest };
type Show = (shown: Shown) => void;

/** The files that no version may contain. The search and the page are in the URL. */
export function BlockedDigestsPage({ keyword, page = 1 }: BlockedDigestsPageProps) {
  const { t } = useTexts();
  usePageTitle(t('digests.title'));
  const [shown, setShown] = useState<Shown | null>(null);
  const close = () => setShown(null);
  const done = (text: string) => {
    announce(text);
    reloadDigests();
    close();
  };
  return (
    <RequireAdmin>
      <Flex vertical gap={24} align="stretch">
        <Flex justify="space-between" gap={16} wrap align="start">
          <div style={{ maxWidth: 560 }}>
            <Typography.Title level={1}>{t('digests.title')}</Typography.Title>
            <Typography.Text type="secondary">{t('digests.lead')}</Typography.Text>
          </div>
          <Button type="primary" onClick={() => setShown({ dialog: 'block' })}>
            {t('digests.block')}
          </Button>
        </Flex>
        <Search keyword={keyword} />
        <BlockedDigests keyword={keyword} page={page} onShow={setShown} />
      </Flex>
      {shown?.dialog === 'block' ? (
        <BlockDigestDialog onClose={close} onDone={() => done(t('digests.blocked'))} />
      ) : null}
      {shown?.dialog === 'edit' ? (
        <BlockDigestDialog blocked={shown.blocked} onClose={close} onDone={() => done(t('digests.saved'))} />
      ) : null}
      {shown?.dialog === 'versions' ? <ContainingVersionsDialog blocked={shown.blocked} onClose={close} /> : null}
      {shown?.dialog === 'unblock' ? (
        <ConfirmDialog
          title={t('digests.unblockTitle', { digest: shortDigest(shown.blocked.sha256) })}
          action={t('digests.unblockAction')}
          failedTitle={t('digests.notUnblocked')}
          danger
          run={() => unblockDigest(shown.blocked.sha256)}
          onClose={close}
          onDone={() => done(t('digests.unblocked'))}
        >
          <p>{t('digests.unblockText')}</p>
        </ConfirmDialog>
      ) : null}
    </RequireAdmin>
  );
}

function Search({ keyword }: { keyword?: string }) {
  const { t } = useTexts();
  const navigate = useNavigate();
  return (
    <Flex role="search" aria-label={t('digests.search')}>
      <KeywordSearch
        label={t('digests.searchHint')}
        action={t('digests.searchAction')}
        keyword={keyword}
        onSearch={(typed) =>
          void navigate({ to: '/console/blocked-digests', search: { keyword: typed }, resetScroll: false })
        }
      />
    </Flex>
  );
}

function BlockedDigests({ keyword, page, onShow }: { keyword?: string; page: number; onShow: Show }) {
  const { t } = useTexts();
  const navigate = useNavigate();
  const { data, error, isPlaceholderData, refetch } = useQuery(blockedDigestsQuery(keyword, page));
  const pagination = usePagination(page, data?.count, CONSOLE_PAGE_SIZE);
  if (error && !data) return <LoadError title={t('digests.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0 && !isPlaceholderData)
    return keyword ? (
      <EmptyState text={t('digests.noMatch')}>
        <Button onClick={() => void navigate({ to: '/console/blocked-digests' })}>{t('digests.clear')}</Button>
      </EmptyState>
    ) : (
      <EmptyState text={t('digests.empty')} />
    );
  return (
    <>
      {data?.list.some(({ offered_count: offered }) => offered > 0) ? (
        <Note type="warning" title={t('digests.warning')} description={t('digests.warningText')} />
      ) : null}
      <DigestTable
        list={data?.list ?? []}
        isLoading={!data || isPlaceholderData}
        pagination={pagination}
        onShow={onShow}
      />
    </>
  );
}

interface DigestTableProps {
  list: BlockedDigest[];
  isLoading: boolean;
  pagination: TablePaginationConfig | false;
  onShow: Show;
}

function DigestTable({ list, isLoading, pagination, onShow }: DigestTableProps) {
  const { t, language } = useTexts();
  return (
    <RecordTable<BlockedDigest & { id: string }>
      label={t('digests.title')}
      list={list.map((blocked) => ({ ...blocked, id: blocked.sha256 }))}
      isLoading={isLoading}
      pagination={pagination}
      columns={[
        {
          key: 'sha256',
          title: t('digests.sha256'),
          render: (_, { sha256 }) => (
            <Typography.Text code title={sha256} copyable={{ text: sha256 }} style={{ whiteSpace: 'nowrap' }}>
              {shortDigest(sha256)}
            </Typography.Text>
          ),
        },
        {
          key: 'reason',
          title: t('digests.reason'),
          render: (_, { reason }) => (
            <span style={{ display: 'block', maxWidth: 320, overflowWrap: 'anywhere' }}>{reason}</span>
          ),
        },
        {
          key: 'versions',
          title: t('digests.versions'),
          render: (_, blocked) => <VersionCounts blocked={blocked} onShow={onShow} />,
        },
        {
          key: 'since',
          title: t('digests.since'),
          render: (_, { created_at: at }) => <time dateTime={at}>{dateText(at, language)}</time>,
        },
        {
          key: 'action',
          title: <span className="sr-only">{t('digests.action')}</span>,
          fixed: 'end',
          render: (_, blocked) => {
            const digest = shortDigest(blocked.sha256);
            return (
              <Flex gap={8}>
                <Button
                  size="small"
                  aria-label={t('digests.editOf', { digest })}
                  onClick={() => onShow({ dialog: 'edit', blocked })}
                >
                  {t('digests.edit')}
                </Button>
                <Button
                  size="small"
                  danger
                  aria-label={t('digests.unblockOf', { digest })}
                  onClick={() => onShow({ dialog: 'unblock', blocked })}
                >
                  {t('digests.unblock')}
                </Button>
              </Flex>
            );
          },
        },
      ]}
    />
  );
}

/** How many versions contain a file, with a button that shows them. */
function VersionCounts({ blocked, onShow }: { blocked: BlockedDigest; onShow: Show }) {
  const { t } = useTexts();
  const { version_count: count, offered_count: offered, sha256 } = blocked;
  if (count === 0) return t('digests.none');
  return (
    <Flex vertical gap={4} align="flex-start">
      <Button
        size="small"
        aria-label={`${t('digests.versionCount', { count })}: ${t('digests.showVersions', { digest: shortDigest(sha256) })}`}
        onClick={() => onShow({ dialog: 'versions', blocked })}
      >
        {t('digests.versionCount', { count })}
      </Button>
      {offered > 0 ? <Typography.Text type="danger">{t('digests.offered', { count: offered })}</Typography.Text> : null}
    </Flex>
  );
}
