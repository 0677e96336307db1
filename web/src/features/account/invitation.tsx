import { useMutation, useQuery } from '@tanstack/react-query';
import { Button, Card, Flex, Typography } from 'antd';
import { api } from '@/api/client';
import type { InvitationPreview, Session, SessionUser } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { queryClient, sessionQuery, useUser } from '@/app/queries';
import { RequireAuth } from '@/app/require-auth';
import { Note } from '@/features/billing/dialog';
import { LinkButton } from '@/features/billing/link-button';
import { Loading, PageResult } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';
import { dateTimeText } from '@/lib/format';

/** The page of an invitation's link. Opening it changes nothing; the user confirms first. */
export function InvitationPage({ token }: { token: string }) {
  const user = useUser();
  return <RequireAuth>{user ? <Invited token={token} user={user} /> : null}</RequireAuth>;
}

function Invited({ token, user }: { token: string; user: SessionUser }) {
  const { t } = useTexts();
  usePageTitle(t('invitation.title'));
  const { data, error } = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => api.post<InvitationPreview>('/api/invitations/preview', { token }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnReconnect: false,
  });
  const accept = useMutation({
    mutationFn: () => api.post<Session>('/api/invitations/accept', { token }),
    onSuccess: (session) => queryClient.setQueryData(sessionQuery.queryKey, session),
  });
  const storeLink = <LinkButton to="/">{t('owner.toStore')}</LinkButton>;
  if (accept.isSuccess && data)
    return (
      <PageResult
        status="success"
        title={t(`invitation.done.${data.role}`)}
        text={t(`invitation.next.${data.role}`)}
        action={
          data.role === 'developer' ? (
            <LinkButton to="/developer/access-tokens">{t('invitation.toTokens')}</LinkButton>
          ) : (
            storeLink
          )
        }
      />
    );
  const failure = accept.error ?? error;
  if (failure)
    return (
      <PageResult status="error" title={t('invitation.rejected')} text={translateError(failure)} action={storeLink} />
    );
  if (!data) return <Loading title rows={6} />;
  return <Offer offer={data} name={user.fullName} isPending={accept.isPending} onAccept={() => accept.mutate()} />;
}

interface OfferProps {
  offer: InvitationPreview;
  name: string;
  isPending: boolean;
  onAccept: () => void;
}

function Offer({ offer, name, isPending, onAccept }: OfferProps) {
  const { t, language } = useTexts();
  return (
    <Card style={{ maxWidth: 640, marginInline: 'auto' }}>
      <Flex vertical gap={16} align="stretch">
        <Typography.Title level={1}>{t(`invitation.heading.${offer.role}`)}</Typography.Title>
        <p>
          {offer.invited_by
            ? t(`invitation.by.${offer.role}`, { name: offer.invited_by })
            : t(`invitation.byStore.${offer.role}`)}
        </p>
        <p>{t(`invitation.may.${offer.role}`)}</p>
        <Note
          type="info"
          title={t('invitation.once')}
          description={t('invitation.until', { date: dateTimeText(offer.expires_at, language) })}
        />
        <Button type="primary" style={{ alignSelf: 'flex-start' }} loading={isPending} onClick={onAccept}>
          {t('invitation.action', { name })}
        </Button>
      </Flex>
    </Card>
  );
}
