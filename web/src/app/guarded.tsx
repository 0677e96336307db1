import { type ReactNode, useCallback, useEffect, useRef } from 'react';
import { useTexts } from '@/app/i18n';
import { Notice } from '@/app/notice';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { signIn } from '@/app/sign-in';
import { Button } from '@/kit/button';

/**
 * Once the session is known and nobody is signed in, asks for it and stays on the page's own address, so that
 * whoever connects is where they wanted to be.
 */
export function Guarded({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const user = useUser();
  const asked = useRef(false);
  usePageTitle(user === null ? t('guard.title') : undefined);
  const ask = useCallback(() => void signIn(), []);

  useEffect(() => {
    if (user !== null || asked.current) return;
    asked.current = true;
    ask();
  }, [user, ask]);

  if (user === undefined) {
    return (
      <p className="unseen" role="status">
        {t('state.loading')}
      </p>
    );
  }
  if (user) return children;
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
