import { useQuery } from '@tanstack/react-query';
import { Button, Flex, Typography } from 'antd';
import { useState } from 'react';
import type { CreatedInvitation, Invitation, PassportHolder } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { queryClient, useUser } from '@/app/queries';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { RecordTable } from '@/features/billing/record-table';
import { EmptyState, LoadError, Section } from '@/features/billing/states';
import { ShortCode } from '@/features/reviews/short-code';
import { announce } from '@/kit/announce';
import { dateText, dateTimeText } from '@/lib/format';
import { BlockedUsers } from './blocked-users';
import { ConsoleList } from './console-list';
import {
  blockedUsersQuery,
  blockUser,
  developersQuery,
  invitationsQuery,
  managedRoles,
  revokeInvitation,
  revokePassport,
} from './developers';
import { InvitationLinkDialog } from './invitation-link-dialog';
import { InviteDialog } from './invite-dialog';
import { RequireAdmin } from './require-admin';
import { useTexts } from './texts';

type Shown =
  | { dialog: 'invite' }
  | { dialog: 'link'; created: CreatedInvitation }
  | { dialog: 'revokePassport'; holder: PassportHolder }
  | { dialog: 'block'; holder: PassportHolder }
  | { dialog: 'revokeInvitation'; invitation: Invitation };

const reload = () => {
  void queryClient.invalidateQueries({ queryKey: ['developers'] });
  void queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey });
  void queryClient.invalidateQueries({ queryKey: blockedUsersQuery.queryKey });
};

/** Who publishes, reviews and administers, and who is invited to. */
export function DevelopersPage({ page = 1 }: { page?: number }) {
  const { t, language } = useTexts();
  const [shown, setShown] = useState<Shown | null>(null);
  const close = () => setShown(null);
  const done = (text: string) => {
    announce(text);
    reload();
    close();
  };
  usePageTitle(t('developers.title'));
  return (
    <RequireAdmin>
      <Flex vertical gap={32} align="stretch">
        <Flex justify="space-between" gap={16} wrap align="start">
          <div style={{ maxWidth: 560 }}>
            <Typography.Title level={1}>{t('developers.title')}</Typography.Title>
            <Typography.Text type="secondary">{t('developers.lead')}</Typography.Text>
          </div>
          <Button type="primary" onClick={() => setShown({ dialog: 'invite' })}>
            {t('developers.invite')}
          </Button>
        </Flex>
        <Holders
          page={page}
          onRevoke={(holder) => setShown({ dialog: 'revokePassport', holder })}
          onBlock={(holder) => setShown({ dialog: 'block', holder })}
        />
        <Section id="invitations" title={t('invitations.title')}>
          <Invitations onRevoke={(invitation) => setShown({ dialog: 'revokeInvitation', invitation })} />
        </Section>
        <Section id="blocked-users" title={t('blocked.title')}>
          <BlockedUsers onChanged={reload} />
        </Section>
      </Flex>
      {shown?.dialog === 'invite' ? (
        <InviteDialog
          onClose={close}
          onCreated={(created) => {
            setShown({ dialog: 'link', created });
            reload();
          }}
        />
      ) : null}
      {shown?.dialog === 'link' ? <InvitationLinkDialog created={shown.created} onClose={close} /> : null}
      {shown?.dialog === 'revokePassport' ? (
        <ConfirmDialog
          title={t('developers.revokeTitle', { role: t(`role.${shown.holder.role}`), name: nameOf(shown.holder) })}
          action={t('developers.revokeAction')}
          failedTitle={t('developers.notRevoked')}
          danger
          run={() => revokePassport(shown.holder.id)}
          onClose={close}
          onDone={() => done(t('developers.revoked'))}
        >
          <p>{t(shown.holder.role === 'developer' ? 'developers.revokeText' : 'developers.revokeOtherText')}</p>
        </ConfirmDialog>
      ) : null}
      {shown?.dialog === 'block' ? (
        <ConfirmDialog
          title={t('developers.blockTitle', { name: nameOf(shown.holder) })}
          action={t('developers.blockAction')}
          failedTitle={t('developers.notBlocked')}
          danger
          run={() => blockUser(shown.holder.did)}
          onClose={close}
          onDone={() => done(t('developers.blocked'))}
        >
          <p>{t('developers.blockText')}</p>
        </ConfirmDialog>
      ) : null}
      {shown?.dialog === 'revokeInvitation' ? (
        <ConfirmDialog
          title={t('invitations.revokeTitle')}
          action={t('invitations.revokeAction')}
          failedTitle={t('invitations.notRevoked')}
          danger
          run={() => revokeInvitation(shown.invitation.id)}
          onClose={close}
          onDone={() => done(t('invitations.revoked'))}
        >
          <p>
            {t('invitations.revokeText', {
              role: t(`role.${shown.invitation.role}`),
              date: dateTimeText(shown.invitation.created_at, language),
            })}
          </p>
        </ConfirmDialog>
      ) : null}
    </RequireAdmin>
  );
}

const nameOf = ({ name, did }: PassportHolder) => name || `${did.slice(0, 8)}…${did.slice(-6)}`;

interface HoldersProps {
  page: number;
  onRevoke: (holder: PassportHolder) => void;
  onBlock: (holder: PassportHolder) => void;
}

function Holders({ page, onRevoke, onBlock }: HoldersProps) {
  const { t, language } = useTexts();
  const user = useUser();
  const roles: string[] = managedRoles(user);
  return (
    <ConsoleList<PassportHolder>
      query={developersQuery(page)}
      page={page}
      label={t('developers.title')}
      empty={t('developers.empty')}
      failed={t('developers.error')}
      columns={[
        {
          key: 'name',
          title: t('developers.name'),
          render: (_, holder) => <span style={{ overflowWrap: 'anywhere' }}>{nameOf(holder)}</span>,
        },
        {
          key: 'did',
          title: t('developers.did'),
          render: (_, { did }) => <ShortCode text={did} />,
        },
        { key: 'role', title: t('developers.role'), render: (_, { role }) => t(`role.${role}`) },
        {
          key: 'since',
          title: t('developers.since'),
          render: (_, { since }) => <time dateTime={since}>{dateText(since, language)}</time>,
        },
        { key: 'apps', title: t('developers.apps'), align: 'end', render: (_, { apps }) => String(apps) },
        {
          key: 'action',
          title: <span className="sr-only">{t('developers.action')}</span>,
          fixed: 'end',
          render: (_, holder) =>
            roles.includes(holder.role) ? (
              <Flex gap={8} wrap>
                <Button
                  size="small"
                  danger
                  aria-label={t('developers.revokeOf', { role: t(`role.${holder.role}`), name: nameOf(holder) })}
                  onClick={() => onRevoke(holder)}
                >
                  {t('developers.revoke')}
                </Button>
                {holder.did === user?.did ? null : (
                  <Button
                    size="small"
                    danger
                    aria-label={t('developers.blockOf', { name: nameOf(holder) })}
                    onClick={() => onBlock(holder)}
                  >
                    {t('developers.block')}
                  </Button>
                )}
              </Flex>
            ) : null,
        },
      ]}
    />
  );
}

function Invitations({ onRevoke }: { onRevoke: (invitation: Invitation) => void }) {
  const { t, language } = useTexts();
  const roles: string[] = managedRoles(useUser());
  const { data, error, refetch } = useQuery(invitationsQuery);
  if (error && !data) return <LoadError title={t('invitations.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0) return <EmptyState text={t('invitations.empty')} />;
  return (
    <RecordTable<Invitation>
      label={t('invitations.title')}
      list={data?.list ?? []}
      isLoading={!data}
      columns={[
        { key: 'role', title: t('developers.role'), render: (_, { role }) => t(`role.${role}`) },
        { key: 'status', title: t('invitations.status'), render: (_, { status }) => t(`invitations.status.${status}`) },
        {
          key: 'created',
          title: t('invitations.created'),
          render: (_, { created_at: at }) => <time dateTime={at}>{dateTimeText(at, language)}</time>,
        },
        {
          key: 'expires',
          title: t('invitations.expires'),
          render: (_, { expires_at: at }) => <time dateTime={at}>{dateTimeText(at, language)}</time>,
        },
        {
          key: 'action',
          title: <span className="sr-only">{t('developers.action')}</span>,
          fixed: 'end',
          render: (_, invitation) =>
            invitation.status === 'open' && roles.includes(invitation.role) ? (
              <Button
                size="small"
                danger
                aria-label={t('invitations.revokeOf', {
                  role: t(`role.${invitation.role}`),
                  date: dateTimeText(invitation.created_at, language),
                })}
                onClick={() => onRevoke(invitation)}
              >
                {t('invitations.revoke')}
              </Button>
            ) : null,
        },
      ]}
    />
  );
}
