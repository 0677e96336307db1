import { useQuery } from '@tanstack/react-query';
import { Button, Flex, Tag, Typography } from 'antd';
import { useState } from 'react';
import type { CiIssuer, TrustedPublisher, TrustedPublisherList } from '@/api/types';
import { queryClient } from '@/app/queries';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { CopyField } from '@/features/billing/copy-field';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { ShortCode } from '@/features/reviews/short-code';
import { announce } from '@/kit/announce';
import { dateText, dateTimeText } from '@/lib/format';
import { TOKEN_SCOPES } from './access-tokens';
import { RegisterPublisherDialog } from './register-publisher-dialog';
import { useTexts } from './texts';
import { jobExample, removePublisher, trustedPublishersQuery } from './trusted-publishers';

type Shown = { dialog: 'register' } | { dialog: 'remove'; publisher: TrustedPublisher };

/** The repositories whose CI may publish without an access token. */
export function TrustedPublishersSection() {
  const { t } = useTexts();
  const [shown, setShown] = useState<Shown | null>(null);
  const { data, error, refetch } = useQuery(trustedPublishersQuery);
  const isOff = data?.issuers.length === 0;
  const show = (all: TrustedPublisherList, text: string) => {
    queryClient.setQueryData(trustedPublishersQuery.queryKey, all);
    announce(text);
    setShown(null);
  };
  return (
    <section aria-labelledby="trusted-publishers">
      <Flex vertical gap={24} align="stretch">
        <Flex justify="space-between" gap={16} wrap align="start">
          <div style={{ maxWidth: 640 }}>
            <Typography.Title level={2} id="trusted-publishers">
              {t('publishers.title')}
            </Typography.Title>
            <Typography.Text type="secondary">{t('publishers.lead')}</Typography.Text>
          </div>
          {data && !isOff ? (
            <Button onClick={() => setShown({ dialog: 'register' })}>{t('publishers.register')}</Button>
          ) : null}
        </Flex>
        {error && !data ? (
          <LoadError title={t('publishers.error')} error={error} onRetry={() => void refetch()} />
        ) : data?.count === 0 ? (
          <EmptyState text={t(isOff ? 'publishers.off' : 'publishers.empty')} />
        ) : (
          <Publishers data={data} onRemove={(publisher) => setShown({ dialog: 'remove', publisher })} />
        )}
        {data && data.count > 0 && !isOff ? <SetUp data={data} /> : null}
      </Flex>
      {shown?.dialog === 'register' && data ? (
        <RegisterPublisherDialog
          issuers={data.issuers}
          onClose={() => setShown(null)}
          onRegistered={(all, repository) => show(all, t('publishers.registered', { repository }))}
        />
      ) : null}
      {shown?.dialog === 'remove' ? (
        <RemoveDialog
          publisher={shown.publisher}
          onClose={() => setShown(null)}
          onRemoved={(remaining) => show(remaining, t('publishers.removed'))}
        />
      ) : null}
    </section>
  );
}

/** Patterns up to this length stay in one line. */
const NOWRAP_MAX = 12;

interface PublishersProps {
  data: TrustedPublisherList | undefined;
  onRemove: (publisher: TrustedPublisher) => void;
}

function Publishers({ data, onRemove }: PublishersProps) {
  const { t, language } = useTexts();
  return (
    <RecordTable<TrustedPublisher>
      label={t('publishers.title')}
      list={data?.list ?? []}
      isLoading={!data}
      columns={[
        {
          key: 'repository',
          title: t('publishers.repository'),
          render: (_, { repository, repository_id: id, issuer, status }) => (
            <Flex vertical style={{ minWidth: 120, maxWidth: 240, overflowWrap: 'anywhere' }}>
              <Flex gap={8} align="center" wrap>
                {repository}
                {status === 'active' ? null : <Tag>{t(`publishers.status.${status}`)}</Tag>}
              </Flex>
              <Typography.Text type="secondary">{issuer.replace(/^https?:\/\//, '')}</Typography.Text>
              {id ? <Typography.Text type="secondary">{t('publishers.repositoryIdOf', { id })}</Typography.Text> : null}
            </Flex>
          ),
        },
        {
          key: 'id',
          title: t('publishers.id'),
          render: (_, { id }) => <ShortCode text={id} />,
        },
        {
          key: 'jobs',
          title: t('publishers.runsFrom'),
          render: (_, { workflow, environment, protected_refs_only: isProtected }) => (
            <Flex vertical style={{ minWidth: 180, overflowWrap: 'anywhere' }}>
              <span>{workflow ? t('publishers.workflowOf', { name: workflow }) : t('publishers.anyWorkflow')}</span>
              <span>
                {environment ? t('publishers.environmentOf', { name: environment }) : t('publishers.anyEnvironment')}
              </span>
              <span>{t(isProtected ? 'publishers.protectedOnly' : 'publishers.anyRef')}</span>
            </Flex>
          ),
        },
        {
          key: 'scopes',
          title: t('tokens.scopes'),
          render: (_, { scopes }) => (
            <Flex vertical>
              {TOKEN_SCOPES.filter((scope) => scopes.includes(scope)).map((scope) => (
                <span key={scope}>{t(`tokens.scope.${scope}`)}</span>
              ))}
            </Flex>
          ),
        },
        {
          key: 'apps',
          title: t('tokens.apps'),
          render: (_, { apps }) =>
            apps.includes('*') ? (
              t('tokens.allApps')
            ) : (
              <Flex vertical style={{ maxWidth: 200, overflowWrap: 'anywhere' }}>
                {apps.map((app) => (
                  <span key={app} style={{ whiteSpace: app.length > NOWRAP_MAX ? undefined : 'nowrap' }}>
                    {app}
                  </span>
                ))}
              </Flex>
            ),
        },
        {
          key: 'used',
          title: t('tokens.lastUsed'),
          render: (_, { last_used_at: at }) =>
            at ? <time dateTime={at}>{dateTimeText(at, language)}</time> : t('tokens.never'),
        },
        {
          key: 'created',
          title: t('tokens.created'),
          render: (_, { created_at: at }) => <time dateTime={at}>{dateText(at, language)}</time>,
        },
        {
          key: 'action',
          title: <span className="sr-only">{t('tokens.action')}</span>,
          render: (_, publisher) => (
            <Button
              size="small"
              danger
              aria-label={t('publishers.removeOf', { repository: publisher.repository })}
              onClick={() => onRemove(publisher)}
            >
              {t('publishers.remove')}
            </Button>
          ),
        },
      ]}
    />
  );
}

/** An example for each provider that the developer has registered. */
function SetUp({ data: { list, issuers, audience } }: { data: TrustedPublisherList }) {
  const { t } = useTexts();
  const used = (provider: CiIssuer['provider']) =>
    list.some(({ issuer }) => issuers.some(({ address, provider: of }) => address === issuer && of === provider));
  return (['github', 'gitlab'] as const)
    .filter(used)
    .map((provider) => (
      <CopyField
        key={provider}
        label={`${t('publishers.setUp')} (${t(`publishers.provider.${provider}`)})`}
        text={jobExample(provider, audience)}
        rows={6}
        isCode
      />
    ));
}

interface RemoveDialogProps {
  publisher: TrustedPublisher;
  onClose: () => void;
  onRemoved: (remaining: TrustedPublisherList) => void;
}

function RemoveDialog({ publisher: { id, repository }, onClose, onRemoved }: RemoveDialogProps) {
  const { t } = useTexts();
  return (
    <ConfirmDialog
      title={t('publishers.removeTitle', { repository })}
      action={t('publishers.removeAction')}
      failedTitle={t('publishers.notRemoved')}
      danger
      run={async () => onRemoved(await removePublisher(id))}
      onClose={onClose}
      onDone={() => undefined}
    >
      <p>{t('publishers.removeText')}</p>
    </ConfirmDialog>
  );
}
