import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '@/api/client';
import type { Session, SessionUser } from '@/api/types';
import { Guarded } from '@/app/guarded';
import { useTexts } from '@/app/i18n';
import { Notice } from '@/app/notice';
import { usePageTitle } from '@/app/page';
import { queryClient, sessionQuery, useUser } from '@/app/queries';
import { spokenError } from '@/i18n/spoken';
import { Button } from '@/kit/button';

/** The one-time link of a new store. It asks before it acts: opening a link alone changes nothing. */
export function ClaimOwner({ token }: { token: string }) {
  const user = useUser();
  return <Guarded>{user ? <Claim token={token} user={user} /> : null}</Guarded>;
}

function Claim({ token, user }: { token: string; user: SessionUser }) {
  const { t } = useTexts();
  usePageTitle(t('owner.title'));
  const claim = useMutation({
    mutationFn: () => api.post<Session>('/api/session/claim-owner', { token }),
    onSuccess: (session) => queryClient.setQueryData(sessionQuery.queryKey, session),
  });
  if (claim.isSuccess) {
    return (
      <Notice
        asPage
        title={t('owner.done')}
        text={t('owner.doneText')}
        action={<Link to="/">{t('app.toStore')}</Link>}
      />
    );
  }
  if (claim.isError) {
    return (
      <Notice
        asPage
        alert
        title={t('owner.refused')}
        text={spokenError(claim.error)}
        action={<Link to="/">{t('app.toStore')}</Link>}
      />
    );
  }
  return (
    <Notice
      asPage
      title={t('owner.title')}
      text={t('owner.text')}
      action={
        <Button look="primary" busy={claim.isPending} onClick={() => claim.mutate()}>
          {t('owner.action', { name: user.fullName })}
        </Button>
      }
    />
  );
}
