import { useMutation, useQuery } from '@tanstack/react-query';
import { Alert, Button, Flex, Typography } from 'antd';
import { useState } from 'react';
import { api, apiUrl } from '@/api/client';
import { ApiError } from '@/api/error';
import { saveFile } from '@/app/save-file';
import { ActionError } from '@/features/billing/action-error';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { LoadError, Loading, Section } from '@/features/billing/states';
import { type Key, useTexts } from '@/features/billing/texts';
import { loadErrorMessages } from '@/i18n/translate';
import { erasureQuery } from './queries';

const OBSTACLES = [
  'role',
  'active_subscription',
  'unpaid_invoice',
  'money_in_flight',
  'open_dispute',
  'deposit',
  'balance',
  'earnings',
] as const;
const KEPT = ['invoices', 'journal', 'shares', 'references', 'processor', 'did', 'audit', 'mails', 'backups'] as const;

/** Fetches the file before it is saved, so that the page shows a refusal. */
async function downloadMyData(): Promise<void> {
  const response = await fetch(apiUrl('/api/customers/me/export'), { credentials: 'same-origin' });
  if (!response.ok) {
    await loadErrorMessages();
    const data: unknown = await response.json().catch(() => null);
    throw new ApiError(`Request failed with status code ${response.status}`, response.status, data);
  }
  saveFile('my-data.json', await response.blob());
}

/** The download of everything that is stored about the user. */
export function MyData() {
  const { t } = useTexts();
  const download = useMutation({ mutationFn: downloadMyData });
  return (
    <Section id="my-data" title={t('myData.title')}>
      <Typography.Paragraph>{t('myData.text')}</Typography.Paragraph>
      <Flex vertical gap={12} align="flex-start">
        <Button loading={download.isPending} onClick={() => download.mutate()}>
          {t('myData.download')}
        </Button>
        <ActionError title={t('myData.failed')} action={download} />
      </Flex>
    </Section>
  );
}

/** The erasure of the user's data: what is removed, what is kept and why, and what stands in the way. */
export function ErasureSection({ onErased }: { onErased: () => void }) {
  const { t } = useTexts();
  const [open, setOpen] = useState(false);
  const { data, error, refetch } = useQuery(erasureQuery);
  const texts = OBSTACLES.filter((each) => data?.obstacles.includes(each)).map(
    (each): Key => `erasure.obstacle.${each}`,
  );
  return (
    <Section id="erasure" title={t('erasure.title')}>
      <Typography.Paragraph>{t('erasure.text')}</Typography.Paragraph>
      <Typography.Title level={3}>{t('erasure.kept')}</Typography.Title>
      <ul>
        {KEPT.map((each) => (
          <li key={each}>{t(`erasure.kept.${each}`)}</li>
        ))}
      </ul>
      {error && !data ? (
        <LoadError title={t('erasure.error')} error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Loading rows={1} />
      ) : data.obstacles.length > 0 ? (
        <Alert
          type="info"
          showIcon
          role="note"
          title={t('erasure.notYet')}
          description={
            <Flex vertical component="ul" style={{ margin: 0, paddingInlineStart: 20 }}>
              {texts.map((key) => (
                <li key={key}>{t(key)}</li>
              ))}
            </Flex>
          }
        />
      ) : (
        <Button danger onClick={() => setOpen(true)}>
          {t('erasure.action')}
        </Button>
      )}
      {open ? (
        <ConfirmDialog
          title={t('erasure.confirmTitle')}
          action={t('erasure.confirm')}
          failedTitle={t('erasure.failed')}
          danger
          run={() => api.post('/api/customers/me/erasure')}
          onClose={() => setOpen(false)}
          onDone={onErased}
        >
          <p>{t('erasure.confirmText')}</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  );
}
