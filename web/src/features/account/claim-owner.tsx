import { useMutation } from '@tanstack/react-query';
import { Button, Card, Flex, Typography } from 'antd';
import { api } from '@/api/client';
import type { Session, SessionUser } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { queryClient, sessionQuery, useUser } from '@/app/queries';
import { RequireAuth } from '@/app/require-auth';
import { Note } from '@/features/billing/dialog';
import { LinkButton } from '@/features/billing/link-button';
import { PageResult } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';

/** The page of a new store's one-time link. Opening it changes nothing; the user confirms first. */
export function ClaimOwner({ token }: { token: string }) {
  const user = useUser();
  return <RequireAuth>{user ? <Claim token={token} user={user} /> : null}</RequireAuth>;
}

const RIGHTS = ['sales', 'settings', 'team'] as const;

function Claim({ token, user }: { token: string; user: SessionUser }) {
  const { t } = useTexts();
  usePageTitle(t('owner.title'));
  const claim = useMutation({
    mutationFn: () => api.post<Session>('/api/session/claim-owner', { token }),
    onSuccess: (session) => queryClient.setQueryData(sessionQuery.queryKey, session),
  });
  const storeLink = <LinkButton to="/">{t('owner.toStore')}</LinkButton>;
  if (claim.isSuccess)
    return <PageResult status="success" title={t('owner.done')} text={t('owner.doneText')} action={storeLink} />;
  if (claim.isError)
    return (
      <PageResult status="error" title={t('owner.rejected')} text={translateError(claim.error)} action={storeLink} />
    );
  return (
    <Card style={{ maxWidth: 640, marginInline: 'auto' }}>
      <Flex vertical gap={16} align="start">
        <Typography.Title level={1}>{t('owner.title')}</Typography.Title>
        <p>{t('owner.text')}</p>
        <div>
          <p>{t('owner.rights')}</p>
          <ul>
            {RIGHTS.map((right) => (
              <li key={right}>{t(`owner.rights.${right}`)}</li>
            ))}
          </ul>
        </div>
        <Note type="info" title={t('owner.once')} description={t('owner.onceText')} />
        <Button type="primary" loading={claim.isPending} onClick={() => claim.mutate()}>
          {t('owner.action', { name: user.fullName })}
        </Button>
      </Flex>
    </Card>
  );
}
