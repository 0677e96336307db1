import { useQuery } from '@tanstack/react-query';
import { Alert, Flex } from 'antd';
import type { ReactNode } from 'react';
import { api } from '@/api/client';
import type { Restore } from '@/api/types';
import { dateTimeText } from '@/lib/format';
import { OwnerConfirmation } from './owner-confirmation';
import { restoreQuery } from './queries';
import { useTexts } from './texts';

/** Above the pages of the console while a restored store is on hold. An owner can confirm that the original is stopped. */
export function RestoreBanner(): ReactNode {
  const { t, language } = useTexts();
  const { data: restore } = useQuery(restoreQuery);
  if (!restore?.held) return null;
  const backup = dateTimeText(Date.parse(restore.backup_at ?? ''), language);
  const isStopped = restore.stopped_at !== null;
  return (
    <Alert
      type={isStopped ? 'info' : 'error'}
      showIcon
      title={t('restore.title')}
      style={{ marginBottom: 24 }}
      description={
        <Flex vertical gap={12} align="flex-start">
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
        </Flex>
      }
    />
  );
}
