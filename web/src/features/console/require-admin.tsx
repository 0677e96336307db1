import type { ReactNode } from 'react';
import { useUser } from '@/app/queries';
import { isAdmin } from '@/lib/roles';
import { Banners } from './banners';
import { Forbidden } from './forbidden';
import { useTexts } from './texts';

/** A page of the console; other users see that it is for administrators. */
export function RequireAdmin({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const user = useUser();
  if (user && !isAdmin(user)) return <Forbidden title={t('console.forbidden')} />;
  return (
    <>
      <Banners spaced />
      {children}
    </>
  );
}
