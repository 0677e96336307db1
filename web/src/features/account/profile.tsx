import { Avatar, Card, Flex, Typography } from 'antd';
import { avatarUrl } from '@/api/session';
import type { SessionUser } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { RequireAuth } from '@/app/require-auth';
import { useTexts } from '@/features/billing/texts';
import { ContactForm } from './contact-form';

/** The user's own profile, or the public part of another user's: name, avatar, identifier. */
export function Profile({ did, name }: { did?: string; name?: string }) {
  const user = useUser();
  if (did && did !== user?.did) return <PublicProfile did={did} name={name} />;
  return <RequireAuth>{user ? <OwnProfile user={user} /> : null}</RequireAuth>;
}

function OwnProfile({ user }: { user: SessionUser }) {
  const { t } = useTexts();
  usePageTitle(t('profile.title'));
  return (
    <Flex vertical gap={24} style={{ maxWidth: 640, marginInline: 'auto' }}>
      <h1 className="sr-only">{t('profile.title')}</h1>
      <Flex gap={16} align="center">
        <Avatar size={72} src={user.avatar || avatarUrl(user.did, 72)} alt="" />
        <div>
          <Typography.Text strong style={{ display: 'block', fontSize: 'var(--size-l)' }}>
            {user.fullName}
          </Typography.Text>
          <Typography.Text type="secondary">{t(`profile.role.${user.role || 'none'}`)}</Typography.Text>
        </div>
      </Flex>
      <Identifier did={user.did} />
      <ContactForm />
    </Flex>
  );
}

function PublicProfile({ did, name }: { did: string; name?: string }) {
  const { t } = useTexts();
  const shown = name || `${did.slice(0, 8)}…${did.slice(-6)}`;
  usePageTitle(t('profile.of', { name: shown }));
  return (
    <Flex vertical gap={24} style={{ maxWidth: 640, marginInline: 'auto' }}>
      <Flex gap={16} align="center">
        <Avatar size={72} src={avatarUrl(did, 72)} alt="" />
        <Typography.Title level={1} style={{ margin: 0 }}>
          {shown}
        </Typography.Title>
      </Flex>
      <Identifier did={did} />
    </Flex>
  );
}

function Identifier({ did }: { did: string }) {
  const { t } = useTexts();
  return (
    <Card size="small" title={t('profile.did')}>
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
