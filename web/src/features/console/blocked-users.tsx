import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import type { BlockedUser } from '@/api/types';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError } from '@/features/billing/states';
import { announce } from '@/kit/announce';
import { dateTimeText } from '@/lib/format';
import { blockedUsersQuery, unblockUser } from './developers';
import { useTexts } from './texts';

const nameOf = ({ name, did }: BlockedUser) => name || `${did.slice(0, 8)}…${did.slice(-6)}`;

/** The users who get no passport, until an administrator unblocks them. */
export function BlockedUsers({ onChanged }: { onChanged: () => void }) {
  const { t, language } = useTexts();
  const { data, error, refetch } = useQuery(blockedUsersQuery);
  const [chosen, setChosen] = useState<BlockedUser | null>(null);
  if (error && !data) return <LoadError title={t('blocked.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0) return <EmptyState text={t('blocked.empty')} />;
  return (
    <>
      <RecordTable<BlockedUser & { id: string }>
        label={t('blocked.title')}
        list={data?.list.map((user) => ({ ...user, id: user.did })) ?? []}
        isLoading={!data}
        columns={[
          {
            key: 'name',
            title: t('developers.name'),
            render: (_, user) => <span style={{ overflowWrap: 'anywhere' }}>{nameOf(user)}</span>,
          },
          {
            key: 'since',
            title: t('blocked.since'),
            render: (_, { blocked_at: at }) => <time dateTime={at}>{dateTimeText(at, language)}</time>,
          },
          {
            key: 'action',
            title: <span className="sr-only">{t('developers.action')}</span>,
            render: (_, user) => (
              <Button
                size="small"
                aria-label={t('blocked.unblockOf', { name: nameOf(user) })}
                onClick={() => setChosen(user)}
              >
                {t('blocked.unblock')}
              </Button>
            ),
          },
        ]}
      />
      {chosen ? (
        <ConfirmDialog
          title={t('blocked.unblockTitle', { name: nameOf(chosen) })}
          action={t('blocked.unblock')}
          failedTitle={t('blocked.notUnblocked')}
          run={() => unblockUser(chosen.did)}
          onClose={() => setChosen(null)}
          onDone={() => {
            announce(t('blocked.unblocked'));
            setChosen(null);
            onChanged();
          }}
        >
          <p>{t('blocked.unblockText')}</p>
        </ConfirmDialog>
      ) : null}
    </>
  );
}
