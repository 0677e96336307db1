import { useRouterState } from '@tanstack/react-router';
import { type ReactNode, useCallback, useEffect, useRef } from 'react';
import { authToken } from '@/api/auth-token';
import { useTexts } from '@/app/i18n';
import { usePageTitle } from '@/app/page';
import { useSessionFault, useUser } from '@/app/queries';
import { signIn } from '@/app/sign-in';
import { EmptyState, ErrorState } from '@/app/states';
import { translateError } from '@/i18n/translate';
import { Button } from '@/kit/button';
import { PageSkeleton } from './page-skeleton';

/**
 * Asks visitors to sign in and keeps the address, so that they see the page they wanted. The link of a mail opens its own
 * page without signing in.
 */
export function RequireAuth({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const user = useUser();
  // Rendered again for the next page, whose address may lack the token of the link.
  useRouterState({ select: ({ location }) => location.pathname });
  const fault = useSessionFault();
  const isClosed = user === null && !authToken();
  const isUnknown = isClosed && fault !== null;
  const asked = useRef(false);
  usePageTitle(isUnknown ? t('guard.unknown') : isClosed ? t('guard.title') : undefined);
  const ask = useCallback(() => void signIn(), []);

  useEffect(() => {
    if (!isClosed || isUnknown || asked.current) return;
    asked.current = true;
    ask();
  }, [isClosed, isUnknown, ask]);

  if (user === undefined) return <PageSkeleton />;
  if (isUnknown)
    return <ErrorState asPage title={t('guard.unknown')} text={translateError(fault.error)} onRetry={fault.retry} />;
  if (!isClosed) return children;
  return (
    <EmptyState
      asPage
      title={t('guard.title')}
      text={t('guard.text')}
      action={
        <Button variant="primary" onClick={ask}>
          {t('guard.connect')}
        </Button>
      }
    />
  );
}
