import { useQuery } from '@tanstack/react-query';
import { Avatar, Card, Flex, Typography } from 'antd';
import { api } from '@/api/client';
import { avatarUrl } from '@/api/session';
import type { SessionUser } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { RequireAuth } from '@/app/require-auth';
import { Note } from '@/features/billing/dialog';
import { LinkButton } from '@/features/billing/link-button';
import { useTexts } from '@/features/billing/texts';
import { Leave } from '@/features/join/leave';
import { isOpenToAll, programQuery } from '@/features/join/program';
import { dateText } from '@/lib/format';
import { ContactForm } from './contact-form';
import { ProfilePicture } from './profile-picture';

/** The user's own profile, or the public part of another user's: name, avatar, identifier. */
export function Profile({ did, name }: { did?: string; name?: string }) {
  const user = useUser();
  if (did && did !== user?.did) return <PublicProfile did={did} name={name} />;
  return <RequireAuth>{user ? <OwnProfile user={user} /> : null}</RequireAuth>;
}

function OwnProfile({ user }: { user: SessionUser }) {
  const { t } = useTexts();
  // The roles are in the session as well; without the answer, only the dates are missing.
  const program = useQuery(programQuery).data;
  const standing = program?.standing;
  usePageTitle(t('profile.title'));
  return (
    <Flex vertical gap={24} style={{ maxWidth: 640, marginInline: 'auto' }}>
      <h1 className="sr-only">{t('profile.title')}</h1>
      <Flex gap={16} align="center">
        <Avatar size={72} src={user.avatar || avatarUrl(user.did, 72)} alt={t('profile.picture')} />
        <div>
          <Typography.Text strong style={{ display: 'block', fontSize: 'var(--size-l)' }}>
            {user.fullName}
          </Typography.Text>
          <Typography.Text type="secondary">{t(`profile.role.${user.role || 'none'}`)}</Typography.Text>
          <Since at={standing?.developer_since} />
        </div>
      </Flex>
      <ProfilePicture user={user} />
      {standing?.blocked ? (
        <Note type="error" title={t('profile.blocked')} description={t('profile.blockedText')} />
      ) : null}
      <Identifier did={user.did} />
      <ContactForm />
      {standing?.developer_since ? <Leave standing={standing} /> : null}
      {isOpenToAll(program) && standing && !standing.developer_since && !standing.blocked ? (
        <div>
          <LinkButton to="/join">{t('profile.join')}</LinkButton>
        </div>
      ) : null}
    </Flex>
  );
}

/** Since when somebody is a developer. */
function Since({ at }: { at: string | null | undefined }) {
  const { t, language } = useTexts();
  if (!at) return null;
  return (
    <Typography.Text type="secondary" style={{ display: 'block' }}>
      {t('profile.developerSince', { date: dateText(at, language) })}
    </Typography.Text>
  );
}

function PublicProfile({ did, name }: { did: string; name?: string }) {
  const { t } = useTexts();
  // Without an answer, only the date is missing.
  const developer = useQuery({
    queryKey: ['developers', 'since', did],
    queryFn: () => api.get<{ since: string | null }>(`/api/developer-program/developers/${encodeURIComponent(did)}`),
    retry: false,
  }).data;
  const shown = name || `${did.slice(0, 8)}…${did.slice(-6)}`;
  usePageTitle(t('profile.of', { name: shown }));
  return (
    <Flex vertical gap={24} style={{ maxWidth: 640, marginInline: 'auto' }}>
      <Flex gap={16} align="center">
        <Avatar size={72} src={avatarUrl(did, 72)} alt="" />
        <div>
          <Typography.Title level={1} style={{ margin: 0 }}>
            {shown}
          </Typography.Title>
          <Since at={developer?.since} />
        </div>
      </Flex>
      <Identifier did={did} />
    </Flex>
  );
}

function Identifier({ did }: { did: string }) {
  const { t } = useTexts();
  return (
    <Card title={t('profile.did')}>
      <Typography.Text
        code
        copyable={{ text: did, tooltips: [t('action.copy'), t('action.copied')] }}
        style={{ overflowWrap: 'anywhere' }}
      >
        {did}
      </Typography.Text>
    </Card>
  );
}
