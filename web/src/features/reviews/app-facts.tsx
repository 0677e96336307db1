import { useQuery } from '@tanstack/react-query';
import { Typography } from 'antd';
import type { AppType } from '@/api/types';
import { categoriesQuery } from '@/app/queries';
import { useTexts } from './texts';

/** What kind of app it is. */
export function AppTypeText({ type }: { type: AppType | null }) {
  const { t } = useTexts();
  return <span>{t(`appType.${type ?? 'resource'}`)}</span>;
}

/** Whether an app is listed. */
export function VisibilityText({ isPrivate }: { isPrivate: boolean }) {
  const { t } = useTexts();
  return <span>{t(isPrivate ? 'apps.private' : 'apps.public')}</span>;
}

/** The name of a category; a dash if none was chosen. */
export function CategoryName({ id }: { id: string | null }) {
  const { language } = useTexts();
  const name = useQuery(categoriesQuery).data?.list.find((category) => category.id === id)?.name;
  return <span>{name?.[language] || name?.en || '–'}</span>;
}

/** What kind of app it is, with its category if one was chosen. `type` is undefined if no version was uploaded. */
export function AppKind({ type, category }: { type: AppType | null | undefined; category: string | null }) {
  return (
    <Typography.Text type="secondary">
      {type === undefined ? null : <AppTypeText type={type} />}
      {type === undefined || category === null ? null : ' · '}
      {category === null ? null : <CategoryName id={category} />}
    </Typography.Text>
  );
}
