import { useQuery } from '@tanstack/react-query';
import { Flex, Typography } from 'antd';
import { usePageTitle } from '@/app/page';
import { LoadError, Loading } from '@/features/billing/states';
import { preferencesQuery } from './preferences';
import { RequireAdmin } from './require-admin';
import { SettingsForm } from './settings-form';
import { useTexts } from './texts';

/** Who may publish, what is reviewed, and the limits of uploads and prices. */
export function SettingsPage() {
  const { t } = useTexts();
  usePageTitle(t('settings.title'));
  return (
    <RequireAdmin>
      <Flex vertical gap={24} align="stretch" style={{ maxWidth: 720 }}>
        <div>
          <Typography.Title level={1}>{t('settings.title')}</Typography.Title>
          <Typography.Text type="secondary">{t('settings.lead')}</Typography.Text>
        </div>
        <Settings />
      </Flex>
    </RequireAdmin>
  );
}

function Settings() {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(preferencesQuery);
  if (data) return <SettingsForm preferences={data} />;
  if (error) return <LoadError title={t('settings.error')} error={error} onRetry={() => void refetch()} />;
  return <Loading title rows={20} />;
}
