import type { ReactNode } from 'react';
import { useUser } from '@/app/queries';
import { PageResult } from '@/features/billing/states';
import { isAdmin } from '@/lib/roles';
import { Banners } from './banners';
import { useTexts } from './texts';

/** A page of the console; other users see that it is for administrators. */
export function RequireAdmin({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const user = useUser();
  if (user && !isAdmin(user))
    return <PageResult status="warning" title={t('console.forbidden')} text={t('error.403')} />;
  return (
    <>
      <Banners spaced />
      {children}
    </>
  );
}
