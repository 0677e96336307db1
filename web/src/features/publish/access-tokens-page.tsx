import { useQuery } from '@tanstack/react-query';
import { Button, Flex, Input, Tag, Typography } from 'antd';
import { useId, useState } from 'react';
import type { AccessToken, CreatedAccessToken } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { queryClient } from '@/app/queries';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { announce } from '@/kit/announce';
import { dateText, dateTimeText } from '@/lib/format';
import { usePhone } from '@/lib/use-phone';
import { accessTokensQuery, TOKEN_SCOPES } from './access-tokens';
import { CreateTokenDialog } from './create-token-dialog';
import { DeleteTokenDialog } from './delete-token-dialog';
import { RequireDeveloper } from './require-developer';
import { SecretDialog } from './secret-dialog';
import { useTexts } from './texts';
import { TrustedPublishersSection } from './trusted-publishers-section';

/** The keys with which a developer's tools publish. */
export function AccessTokensPage() {
  const { t } = useTexts();
  usePageTitle(t('tokens.title'));
  return (
    <RequireDeveloper>
      <AccessTokens />
    </RequireDeveloper>
  );
}

type Shown =
  | { dialog: 'create' }
  | { dialog: 'secret'; created: CreatedAccessToken }
  | { dialog: 'delete'; token: AccessToken };

function AccessTokens() {
  const { t } = useTexts();
  const [shown, setShown] = useState<Shown | null>(null);
  const reload = () => void queryClient.invalidateQueries({ queryKey: accessTokensQuery.queryKey });
  return (
    <Flex vertical gap={24} align="stretch">
      <Flex justify="space-between" gap={16} wrap align="start">
        <div style={{ maxWidth: 640 }}>
          <Typography.Title level={1}>{t('tokens.title')}</Typography.Title>
          <Typography.Text type="secondary">{t('tokens.lead')}</Typography.Text>
        </div>
        <Button type="primary" onClick={() => setShown({ dialog: 'create' })}>
          {t('tokens.create')}
        </Button>
      </Flex>
      <TokenList onDelete={(token) => setShown({ dialog: 'delete', token })} />
      <TrustedPublishersSection />
      {shown?.dialog === 'create' ? (
        <CreateTokenDialog
          onClose={() => setShown(null)}
          onCreated={(created) => {
            setShown({ dialog: 'secret', created });
            reload();
          }}
        />
      ) : null}
      {shown?.dialog === 'secret' ? <SecretDialog created={shown.created} onDone={() => setShown(null)} /> : null}
      {shown?.dialog === 'delete' ? (
        <DeleteTokenDialog
          token={shown.token}
          onClose={() => setShown(null)}
          onDeleted={(remaining) => {
            queryClient.setQueryData(accessTokensQuery.queryKey, remaining);
            announce(t('tokens.deleted'));
            setShown(null);
          }}
        />
      ) : null}
    </Flex>
  );
}

function TokenList({ onDelete }: { onDelete: (token: AccessToken) => void }) {
  const { t, language } = useTexts();
  const { data, error, refetch } = useQuery(accessTokensQuery);
  const [words, setWords] = useState('');
  const searchId = useId();
  const phone = usePhone();
  if (error && !data) return <LoadError title={t('tokens.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0) return <EmptyState text={t('tokens.empty')} />;
  const list = (data?.list ?? []).filter(({ name }) => name.toLowerCase().includes(words.trim().toLowerCase()));
  return (
    <>
      <Flex vertical gap={8} style={{ maxWidth: phone ? undefined : 320 }}>
        <label htmlFor={searchId}>{t('tokens.search')}</label>
        <Input
          id={searchId}
          type="search"
          autoComplete="off"
          allowClear
          value={words}
          onChange={({ target }) => setWords(target.value)}
        />
      </Flex>
      {data && list.length === 0 ? (
        <EmptyState text={t('tokens.noMatch')} />
      ) : (
        <RecordTable<AccessToken>
          label={t('tokens.title')}
          list={list}
          isLoading={!data}
          columns={[
            {
              key: 'name',
              title: t('tokens.name'),
              render: (_, { name, status }) => (
                <Flex gap={8} align="center" wrap style={{ maxWidth: 240, overflowWrap: 'anywhere' }}>
                  {name}
                  {status === 'active' ? null : <Tag>{t(`tokens.status.${status}`)}</Tag>}
                </Flex>
              ),
            },
            {
              key: 'id',
              title: t('tokens.id'),
              render: (_, { id }) => (
                <Typography.Text code title={id} style={{ whiteSpace: 'nowrap' }}>
                  {id.slice(0, 8)}…{id.slice(-6)}
                </Typography.Text>
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
                      <span key={app}>{app}</span>
                    ))}
                  </Flex>
                ),
            },
            {
              key: 'expires',
              title: t('tokens.expires'),
              render: (_, { expires_at: at }) => <time dateTime={at}>{dateText(at, language)}</time>,
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
              fixed: 'end',
              render: (_, token) => (
                <Button
                  size="small"
                  danger
                  aria-label={t('tokens.deleteOf', { name: token.name })}
                  onClick={() => onDelete(token)}
                >
                  {t('tokens.delete')}
                </Button>
              ),
            },
          ]}
        />
      )}
    </>
  );
}
