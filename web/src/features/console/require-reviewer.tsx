import type { ReactNode } from 'react';
import { useUser } from '@/app/queries';
import { isAdmin } from '@/lib/roles';
import { Banners } from './banners';
import { isReviewer } from './console-nav';
import { Forbidden } from './forbidden';
import { useTexts } from './texts';

/** A page of the console for reviewers and administrators; other users see that it is for them. */
export function RequireReviewer({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const user = useUser();
  if (user && !isReviewer(user)) return <Forbidden title={t('console.forbiddenReviews')} />;
  return (
    <>
      {isAdmin(user) ? <Banners spaced /> : null}
      {children}
    </>
  );
}
