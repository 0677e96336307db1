import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, Card, Flex, Tag, Typography } from 'antd';
import { api } from '@/api/client';
import type { Login, Page } from '@/api/types';
import { ErrorAlert } from '@/features/billing/dialog';
import { LoadError, Loading, Section } from '@/features/billing/states';
import { type Texts, useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import { deviceOf } from '@/lib/device';
import { dateTimeText } from '@/lib/format';
import { loginsQuery } from './queries';

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
          {data.list.map((login) => {
            const device = deviceText(login, texts);
            return (
              <Card key={login.id} size="small">
                <Flex justify="space-between" align="center" gap={12} wrap>
                  <div>
                    <Flex gap={8} align="center" wrap>
                      <Typography.Text strong title={login.device}>
                        {device}
                      </Typography.Text>
                      {login.current ? <Tag>{t('logins.current')}</Tag> : null}
                    </Flex>
                    <Typography.Text type="secondary">
                      {t('logins.used', { time: dateTimeText(login.used_at, language) })}
                      <br />
                      {t('logins.signedIn', { time: dateTimeText(login.signed_in_at, language) })}
                    </Typography.Text>
                  </div>
                  {login.current ? null : (
                    <Button
                      aria-label={t('logins.endOf', { device })}
                      loading={end.isPending && end.variables === login.id}
                      disabled={end.isPending}
                      onClick={() => end.mutate(login.id)}
                    >
                      {t('logins.end')}
                    </Button>
                  )}
                </Flex>
              </Card>
            );
          })}
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
