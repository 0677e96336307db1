import { useRouterState } from '@tanstack/react-router';
import { type ReactNode, useCallback, useEffect, useRef } from 'react';
import { authToken } from '@/api/auth-token';
import { useTexts } from '@/app/i18n';
import { Failed, Notice } from '@/app/notice';
import { usePageTitle } from '@/app/page';
import { useSessionFault, useUser } from '@/app/queries';
import { signIn } from '@/app/sign-in';
import { spokenError } from '@/i18n/spoken';
import { Button } from '@/kit/button';

/**
 * Once the session is known and nobody is signed in, asks for it and stays on the page's own address, so that
 * whoever connects is where they wanted to be. The link of a mail opens its own page without.
 */
export function Guarded({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const user = useUser();
  // The next page is guarded again.
  useRouterState({ select: ({ location }) => location.pathname });
  const fault = useSessionFault();
  const closed = user === null && !authToken();
  const unknown = closed && fault !== null;
  const asked = useRef(false);
  usePageTitle(unknown ? t('guard.unknown') : closed ? t('guard.title') : undefined);
  const ask = useCallback(() => void signIn(), []);

  useEffect(() => {
    if (!closed || unknown || asked.current) return;
    asked.current = true;
    ask();
  }, [closed, unknown, ask]);

  if (user === undefined) {
    return (
      <p className="unseen" role="status">
        {t('state.loading')}
      </p>
    );
  }
  if (unknown)
    return <Failed asPage title={t('guard.unknown')} text={spokenError(fault.error)} onRetry={fault.retry} />;
  if (!closed) return children;
  return (
    <Notice
      asPage
      title={t('guard.title')}
      text={t('guard.text')}
      action={
        <Button look="primary" onClick={ask}>
          {t('guard.connect')}
        </Button>
      }
    />
  );
}
