import { LinkButton } from '@/features/billing/link-button';
import { PageResult } from '@/features/billing/states';
import { useTexts } from './texts';

/** A page of the console that the user's roles do not open; the title says whose page it is. */
export function Forbidden({ title }: { title: string }) {
  const { t } = useTexts();
  return (
    <PageResult
      status="warning"
      title={title}
      text={t('error.403')}
      action={<LinkButton to="/">{t('console.toStore')}</LinkButton>}
    />
  );
}
