import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Banner } from './banner';
import { diskQuery } from './queries';
import { useTexts } from './texts';

const MIB = 1024 ** 2;
const mebibytes = (bytes: number | null) => Math.floor((bytes ?? 0) / MIB);

/** Shown while the store refuses new orders because its disk is almost full. */
export function DiskBanner(): ReactNode {
  const { t } = useTexts();
  const { data: disk } = useQuery(diskQuery);
  if (!disk?.short) return null;
  const text = t('disk.text', {
    folder: disk.folder ?? '',
    host: disk.host ?? '',
    free: mebibytes(disk.free_bytes),
    reserve: mebibytes(disk.reserve_bytes),
  });
  return <Banner title={t('disk.title')}>{text}</Banner>;
}
