import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { sizeText } from '@/lib/format';
import { Banner } from './banner';
import { diskQuery } from './queries';
import { useTexts } from './texts';

/** Shown while the store refuses new orders because its disk is almost full. */
export function DiskBanner(): ReactNode {
  const { t, language } = useTexts();
  const { data: disk } = useQuery(diskQuery);
  if (!disk?.short) return null;
  const text = t('disk.text', {
    folder: disk.folder ?? '',
    host: disk.host ?? '',
    free: sizeText(disk.free_bytes ?? 0, language),
    reserve: sizeText(disk.reserve_bytes ?? 0, language),
  });
  return <Banner title={t('disk.title')}>{text}</Banner>;
}
