import { CheckCircleOutlined, EyeInvisibleOutlined, FileOutlined, StopOutlined } from '@ant-design/icons';
import { Link } from '@tanstack/react-router';
import { Button, Flex, type TablePaginationConfig, Tag, Typography } from 'antd';
import type { ReactNode } from 'react';
import type { AppState, ManagedApp } from '@/api/types';
import { useUser } from '@/app/queries';
import { RecordTable } from '@/features/billing/record-table';
import { AppKind } from '@/features/reviews/app-facts';
import { shortDid } from '@/features/reviews/people';
import { blockReason, VersionTag } from '@/features/reviews/status';
import { ListedPrice } from '@/features/reviews/terms';
import { useTexts as useReviewTexts } from '@/features/reviews/texts';
import { countText, dateText, dateTimeText } from '@/lib/format';
import type { Locale } from '@/lib/locale';
import { useTexts } from './texts';

/** What an administrator does with an app: a step of the review of its latest version, or another category. */
export type AppAction = 'category' | 'block' | 'unblock';

/** The title in a language; the name of an app that the store has never shown. */
export const appTitle = ({ title, name }: Pick<ManagedApp, 'title' | 'name'>, language: Locale): string =>
  title?.[language] || title?.en || name;

const STATES: Record<AppState, [color: 'success' | 'error' | 'default', icon: ReactNode]> = {
  available: ['success', <CheckCircleOutlined key="available" aria-hidden="true" />],
  blocked: ['error', <StopOutlined key="blocked" aria-hidden="true" />],
  withdrawn: ['default', <EyeInvisibleOutlined key="withdrawn" aria-hidden="true" />],
  unpublished: ['default', <FileOutlined key="unpublished" aria-hidden="true" />],
};

interface AppsTableProps {
  list: ManagedApp[];
  isLoading: boolean;
  pagination: TablePaginationConfig | false;
  onAction: (action: AppAction, app: ManagedApp) => void;
}

export function AppsTable({ list, isLoading, pagination, onAction }: AppsTableProps) {
  const { t, language } = useTexts();
  return (
    <RecordTable<ManagedApp & { id: string }>
      label={t('apps.title')}
      list={list.map((app) => ({ ...app, id: app.did }))}
      isLoading={isLoading}
      dense
      pagination={pagination}
      columns={[
        {
          key: 'app',
          title: t('apps.name'),
          render: (_, app) => {
            const title = appTitle(app, language);
            return (
              // Without a minimum, a name that may break anywhere gets the width of a letter.
              <Flex vertical style={{ overflowWrap: 'anywhere', minWidth: 120 }}>
                <span title={app.did}>{title}</span>
                {title === app.name ? null : <Typography.Text type="secondary">{app.name}</Typography.Text>}
                <AppKind type={app.latest?.type} category={app.category_id} />
              </Flex>
            );
          },
        },
        {
          key: 'developer',
          title: t('apps.developer'),
          render: (_, { developer, developer_name: name }) => (
            <span title={developer} style={{ display: 'inline-block', overflowWrap: 'anywhere', minWidth: 88 }}>
              {name || shortDid(developer)}
            </span>
          ),
        },
        {
          key: 'latest',
          title: t('apps.latest'),
          render: (_, app) => <Latest app={app} title={appTitle(app, language)} />,
        },
        { key: 'state', title: t('apps.inStore'), render: (_, app) => <State app={app} /> },
        { key: 'price', title: t('apps.price'), render: (_, { terms }) => <ListedPrice terms={terms} /> },
        {
          key: 'downloads',
          title: t('apps.downloads'),
          align: 'end',
          render: (_, { downloads }) => countText(downloads, language),
        },
        {
          key: 'updated',
          title: t('apps.updated'),
          render: (_, { updated_at: at, created_at: created }) => (
            <Flex vertical>
              <time dateTime={at} title={dateTimeText(at, language)}>
                {dateText(at, language)}
              </time>
              <Typography.Text type="secondary">
                <time dateTime={created} title={dateTimeText(created, language)}>
                  {t('apps.created', { date: dateText(created, language) })}
                </time>
              </Typography.Text>
            </Flex>
          ),
        },
        {
          key: 'action',
          title: <span className="sr-only">{t('apps.action')}</span>,
          fixed: 'end',
          render: (_, app) => (
            <AppActions app={app} name={appTitle(app, language)} onAction={(action) => onAction(action, app)} />
          ),
        },
      ]}
    />
  );
}

/** The version that was uploaded last, as a link to its review. */
function Latest({ app: { did, latest }, title }: { app: ManagedApp; title: string }) {
  const { t } = useTexts();
  if (!latest) return t('apps.notUploaded');
  return (
    <Flex gap={8} align="center" wrap>
      <Link
        to="/console/reviews/$did/$version"
        params={{ did, version: latest.version }}
        aria-label={t('apps.reviewOf', { name: title, version: latest.version })}
      >
        {latest.version}
      </Link>
      <VersionTag version={latest} />
    </Flex>
  );
}

/** Where the app is, whether lists hide it, the version that visitors see, and the reason of a block. */
function State({ app: { state, version, private: isPrivate, block_reason: reason } }: { app: ManagedApp }) {
  const { t } = useTexts();
  const { t: review } = useReviewTexts();
  const [color, icon] = STATES[state];
  return (
    <Flex vertical gap={4} align="flex-start" style={{ maxWidth: 280, overflowWrap: 'anywhere' }}>
      <Tag color={color} icon={icon} variant="filled">
        {t(`apps.state.${state}`)}
      </Tag>
      {isPrivate ? <Tag variant="filled">{review('apps.private')}</Tag> : null}
      {version && (state === 'available' || state === 'blocked') ? <span>{t('apps.version', { version })}</span> : null}
      {reason === null ? null : <span>{t('apps.reason', { reason: blockReason(reason, review) })}</span>}
    </Flex>
  );
}

interface AppActionsProps {
  app: ManagedApp;
  name: string;
  onAction: (action: AppAction) => void;
}

function AppActions({ app, name, onAction }: AppActionsProps) {
  const { t } = useTexts();
  const userDid = useUser()?.did;
  // An app without an upload has no review, and nobody blocks or unblocks their own app.
  const canBlock = app.latest !== null && app.developer !== userDid;
  return (
    <Flex gap={8} wrap>
      <Button size="small" aria-label={t('apps.setCategoryOf', { name })} onClick={() => onAction('category')}>
        {t('apps.setCategory')}
      </Button>
      {canBlock && app.state === 'blocked' ? (
        <Button size="small" aria-label={t('apps.unblockOf', { name })} onClick={() => onAction('unblock')}>
          {t('apps.unblock')}
        </Button>
      ) : null}
      {canBlock && app.state !== 'blocked' ? (
        <Button size="small" danger aria-label={t('apps.blockOf', { name })} onClick={() => onAction('block')}>
          {t('apps.block')}
        </Button>
      ) : null}
    </Flex>
  );
}
