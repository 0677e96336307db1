import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useUser } from '@/app/queries';
import { LinkButton } from '@/features/billing/link-button';
import { Loading, PageResult } from '@/features/billing/states';
import { isOpenToAll, programQuery } from '@/features/join/program';
import { isDeveloper } from './access-tokens';
import { useTexts } from './texts';

/** A page of developers; other users see how to become one. */
export function RequireDeveloper({ children }: { children: ReactNode }) {
  const user = useUser();
  return user && !isDeveloper(user) ? <Forbidden /> : children;
}

/** What somebody sees who is no developer: how to become one, or that the store has blocked them. */
function Forbidden() {
  const { t } = useTexts();
  const { data, isPending } = useQuery(programQuery);
  if (isPending) return <Loading title rows={4} />;
  const toStore = <LinkButton to="/">{t('tool.toStore')}</LinkButton>;
  if (data?.standing?.blocked)
    return <PageResult status="error" title={t('tokens.blocked')} text={t('tokens.blockedText')} action={toStore} />;
  if (!isOpenToAll(data))
    return (
      <PageResult status="warning" title={t('tokens.forbidden')} text={t('tokens.forbiddenText')} action={toStore} />
    );
  return (
    <PageResult
      status="warning"
      title={t('tokens.forbidden')}
      text={t('tokens.joinText')}
      action={
        <LinkButton to="/join" color="primary" variant="solid">
          {t('tokens.toJoin')}
        </LinkButton>
      }
    />
  );
}
