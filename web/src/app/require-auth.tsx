import { useRouterState } from '@tanstack/react-router';
import { type ReactNode, useCallback, useEffect, useRef } from 'react';
import { authToken } from '@/api/auth-token';
import { useTexts } from '@/app/i18n';
import { usePageTitle } from '@/app/page';
import { useSessionError, useUser } from '@/app/queries';
import { signIn } from '@/app/sign-in';
import { EmptyState, ErrorState } from '@/app/states';
import { translateError } from '@/i18n/translate';
import { Button } from '@/kit/button';
import { PageSkeleton } from './page-skeleton';
import styles from './require-auth.module.css';

/**
 * Asks visitors to sign in and keeps the URL, so that they return to the requested page. A link from an email opens its
 * page without signing in.
 */
export function RequireAuth({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const user = useUser();
  // Rerenders on navigation, because the token of an email link is valid for one path.
  useRouterState({ select: ({ location }) => location.pathname });
  const sessionError = useSessionError();
  const isSignedOut = user === null && !authToken();
  const isUnknown = isSignedOut && sessionError !== null;
  const prompted = useRef(false);
  usePageTitle(isUnknown ? t('guard.unknown') : isSignedOut ? t('guard.title') : undefined);
  const openSignIn = useCallback(() => void signIn(), []);

  useEffect(() => {
    if (!isSignedOut || isUnknown || prompted.current) return;
    prompted.current = true;
    openSignIn();
  }, [isSignedOut, isUnknown, openSignIn]);

  if (user === undefined) return <PageSkeleton />;
  if (isUnknown)
    return (
      <ErrorState
        asPage
        title={t('guard.unknown')}
        text={translateError(sessionError.error)}
        onRetry={sessionError.retry}
      />
    );
  if (!isSignedOut) return children;
  return (
    <div className={styles.page}>
      <EmptyState
        asPage
        title={t('guard.title')}
        text={t('guard.text')}
        action={
          <Button variant="primary" onClick={openSignIn}>
            {t('guard.connect')}
          </Button>
        }
      />
    </div>
  );
}
