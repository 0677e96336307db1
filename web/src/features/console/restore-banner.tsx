import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '@/api/client';
import type { Restore } from '@/api/types';
import { dateTimeText } from '@/lib/format';
import { Banner } from './banner';
import { OwnerConfirmation } from './owner-confirmation';
import { restoreQuery } from './queries';
import { useTexts } from './texts';

/** Shown while a restored store is on hold. An owner can confirm that the original is stopped. */
export function RestoreBanner(): ReactNode {
  const { t, language } = useTexts();
  const { data: restore } = useQuery(restoreQuery);
  if (!restore?.held) return null;
  const backup = dateTimeText(Date.parse(restore.backup_at ?? ''), language);
  const isStopped = restore.stopped_at !== null;
  return (
    <Banner type={isStopped ? 'info' : 'error'} title={t('restore.title')}>
      <div>{t(isStopped ? 'restore.importing' : 'restore.waits', { backup })}</div>
      {restore.import_failure ? <div>{t('restore.failing', { reason: restore.import_failure })}</div> : null}
      {isStopped ? null : (
        <OwnerConfirmation
          action={t('restore.confirm')}
          failedTitle={t('restore.failed')}
          run={() => api.put<Restore>('/api/restore/confirm', {})}
          queryKey={restoreQuery.queryKey}
        >
          <p>{t('restore.confirmText')}</p>
          <p>{t('restore.confirmNext')}</p>
        </OwnerConfirmation>
      )}
    </Banner>
  );
}
