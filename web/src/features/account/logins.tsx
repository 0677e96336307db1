import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, Flex } from 'antd';
import { api } from '@/api/client';
import type { Login, Page } from '@/api/types';
import { ErrorAlert } from '@/features/billing/dialog';
import { LoadError, Loading, Section } from '@/features/billing/states';
import { type Texts, useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import { deviceOf } from '@/lib/device';
import { dateTimeText } from '@/lib/format';
import { devicesQuery, loginsQuery } from './queries';
import { SignedInCard } from './signed-in-card';

const deviceText = (login: Login, { t }: Texts) => {
  const device = deviceOf(login.device);
  return device ? t('logins.device', { ...device }) : t('logins.unknown');
};

/** The browsers in which the user is signed in. Each can be signed out, or all but this one. */
export function Logins() {
  const texts = useTexts();
  const { t, language } = texts;
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(loginsQuery);
  // Without an id: all others.
  const end = useMutation({
    mutationFn: (id?: string) =>
      api.delete<Page<Login>>(id ? `/api/session/logins/${encodeURIComponent(id)}` : '/api/session/logins'),
    onSuccess: (remaining, id) => {
      client.setQueryData(loginsQuery.queryKey, remaining);
      // Signing out everywhere else ends the computers as well.
      if (!id) void client.invalidateQueries({ queryKey: devicesQuery.queryKey });
      announce(t(id ? 'logins.ended' : 'logins.othersEnded'));
    },
  });
  return (
    <Section id="logins" title={t('logins.title')}>
      {error && !data ? (
        <LoadError title={t('logins.error')} error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Loading rows={3} />
      ) : (
        <Flex vertical gap={12}>
          {data.list.map((login) => (
            <SignedInCard
              key={login.id}
              name={deviceText(login, texts)}
              description={login.device}
              isCurrent={login.current}
              facts={[
                t('logins.used', { time: dateTimeText(login.used_at, language) }),
                t('logins.signedIn', { time: dateTimeText(login.signed_in_at, language) }),
              ]}
              isEnding={end.isPending && end.variables === login.id}
              isBusy={end.isPending}
              onEnd={() => end.mutate(login.id)}
            />
          ))}
          {data.list.some(({ current }) => !current) ? (
            <div>
              <Button disabled={end.isPending} onClick={() => end.mutate(undefined)}>
                {t('logins.endOthers')}
              </Button>
            </div>
          ) : null}
          {end.isError ? <ErrorAlert title={t('logins.failed')} text={translateError(end.error)} /> : null}
        </Flex>
      )}
    </Section>
  );
}
