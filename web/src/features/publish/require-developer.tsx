import type { ReactNode } from 'react';
import { useUser } from '@/app/queries';
import { PageResult } from '@/features/billing/states';
import { isDeveloper } from './access-tokens';
import { useTexts } from './texts';

/** A page of developers; other users see how to become one. */
export function RequireDeveloper({ children }: { children: ReactNode }) {
  const { t } = useTexts();
  const user = useUser();
  if (user && !isDeveloper(user))
    return <PageResult status="warning" title={t('tokens.forbidden')} text={t('tokens.forbiddenText')} />;
  return children;
}
