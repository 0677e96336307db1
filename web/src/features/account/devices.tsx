import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Flex, Typography } from 'antd';
import { api } from '@/api/client';
import type { Device, Page } from '@/api/types';
import { ErrorAlert } from '@/features/billing/dialog';
import { focusAfterChange } from '@/features/billing/focus';
import { LoadError, Section } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import { dateTimeText } from '@/lib/format';
import { devicesQuery } from './queries';
import { SignedInCard } from './signed-in-card';

/** The computers on which the user is signed in with the command line. Most users have none, and see no section. */
export function Devices() {
  const { t, language } = useTexts();
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(devicesQuery);
  const end = useMutation({
    mutationFn: (id: string) => api.delete<Page<Device>>(`/api/devices/${encodeURIComponent(id)}`),
    onSuccess: (remaining) => {
      client.setQueryData(devicesQuery.queryKey, remaining);
      announce(t('devices.ended'));
      // Without a computer there is no section.
      focusAfterChange('#devices', 'h1');
    },
  });
  const isShown = Boolean(error) || end.isError || (data?.list.length ?? 0) > 0;
  if (!isShown) return null;
  return (
    <Section id="devices" title={t('devices.title')}>
      {error && !data ? (
        <LoadError title={t('devices.error')} error={error} onRetry={() => void refetch()} />
      ) : (
        <Flex vertical gap={12}>
          <Typography.Text type="secondary">{t('devices.lead')}</Typography.Text>
          {data?.list.map(({ id, name, used_at: used, created_at: created, expires_at: expires }) => (
            <SignedInCard
              key={id}
              name={name}
              description={id}
              facts={[
                t('logins.used', { time: dateTimeText(used, language) }),
                t('devices.until', {
                  created: dateTimeText(created, language),
                  expires: dateTimeText(expires, language),
                }),
              ]}
              isEnding={end.isPending && end.variables === id}
              isBusy={end.isPending}
              onEnd={() => end.mutate(id)}
            />
          ))}
          {end.isError ? <ErrorAlert title={t('devices.failed')} text={translateError(end.error)} /> : null}
        </Flex>
      )}
    </Section>
  );
}
