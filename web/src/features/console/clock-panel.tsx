import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, Flex, Form, Progress, Spin, Statistic, Typography } from 'antd';
import type { Dayjs } from 'dayjs';
import { useEffect, useRef, useState } from 'react';
import { api } from '@/api/client';
import type { TestClock } from '@/api/types';
import { queryClient } from '@/app/queries';
import { DateTimeField } from '@/features/billing/date-time-field';
import { ErrorAlert } from '@/features/billing/dialog';
import { CheckedForm, rule } from '@/features/billing/form';
import { subscriptionName } from '@/features/billing/price-text';
import { LoadError, Loading } from '@/features/billing/states';
import { SubscriptionTag } from '@/features/billing/status';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import { dateTimeText } from '@/lib/format';
import { Activity } from './activity';
import styles from './clock-panel.module.css';
import { progress } from './clock-rules';
import { clockQuery, customerSubscriptionsQuery } from './queries';
import { useTexts } from './texts';

type Step = { by: 'day' | 'next_invoice' | 'year' } | { to: number };

/** One clock: its current time, the forms that advance it, its customer's subscriptions, and its events. */
export function ClockPanel({ id }: { id: string }) {
  const { t, language } = useTexts();
  const { data: clock, error, refetch } = useQuery(clockQuery(id));
  useClockReady(clock);
  if (error && !clock) return <LoadError title={t('clocks.error')} error={error} onRetry={() => void refetch()} />;
  if (!clock) return <Loading title rows={10} />;
  const customer = [clock.customer?.name, clock.customer?.email].filter(Boolean).join(' · ');
  return (
    <section aria-labelledby="clock">
      <Flex vertical gap={24}>
        <header>
          <Typography.Title level={2} id="clock">
            {clock.name}
          </Typography.Title>
          <p>{customer}</p>
          <Typography.Text type="secondary" style={{ overflowWrap: 'anywhere' }}>
            {clock.customer?.did}
          </Typography.Text>
        </header>
        <Statistic
          title={t('clocks.now')}
          value={clock.now}
          formatter={() => (
            <time dateTime={new Date(clock.now * 1000).toISOString()}>{dateTimeText(clock.now * 1000, language)}</time>
          )}
        />
        <div className={styles.control}>
          {clock.status === 'advancing' ? <Advancing clock={clock} /> : null}
          {/* Its space is kept while the clock advances. */}
          <div className={clock.status === 'advancing' ? styles.hidden : undefined}>
            <Advance key={clock.status} clock={clock} />
          </div>
        </div>
        <Subscriptions customerId={clock.customer_id} />
        <section aria-labelledby="activity">
          <Typography.Title level={3} id="activity">
            {t('clocks.activity')}
          </Typography.Title>
          <Activity events={clock.timeline} customerId={clock.customer_id} />
        </section>
      </Flex>
    </section>
  );
}

/** Reloads everything that depends on the time of a clock when it has stopped advancing. */
function useClockReady(clock: TestClock | undefined): void {
  const { t } = useTexts();
  const wasAdvancing = useRef(false);
  useEffect(() => {
    if (!clock) return;
    if (wasAdvancing.current && clock.status === 'ready') {
      announce(t('clocks.arrived'));
      void queryClient.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] !== 'test-clocks' || queryKey[1] === 'list',
      });
    }
    wasAdvancing.current = clock.status === 'advancing';
  }, [clock, t]);
}

function Advancing({ clock }: { clock: TestClock }) {
  const { t, language } = useTexts();
  const [from] = useState(clock.now);
  return (
    <Flex vertical gap={8} role="status">
      <Flex gap={12} align="center">
        <Spin size="small" />
        {clock.target === null
          ? t('clocks.advancing')
          : t('clocks.movingTo', { date: dateTimeText(clock.target * 1000, language) })}
      </Flex>
      {clock.target === null ? null : (
        <Progress
          aria-label={t('clocks.progress')}
          percent={Math.round(progress(from, clock.now, clock.target) * 100)}
        />
      )}
    </Flex>
  );
}

const STEPS = ['day', 'next_invoice', 'year'] as const;

interface Values {
  date?: Dayjs;
}

function Advance({ clock }: { clock: TestClock }) {
  const { t } = useTexts();
  const advance = useMutation({
    mutationFn: (step: Step) => api.post<TestClock>(`/api/test-clocks/${encodeURIComponent(clock.id)}/advance`, step),
    onSuccess: (updated) => queryClient.setQueryData(clockQuery(clock.id).queryKey, updated),
  });
  return (
    <Flex vertical gap={16}>
      <Flex wrap gap={12}>
        {STEPS.map((by) => (
          <Button
            key={by}
            type={by === 'next_invoice' ? 'primary' : 'default'}
            disabled={advance.isPending}
            onClick={() => advance.mutate({ by })}
          >
            {t(`clocks.by.${by}`)}
          </Button>
        ))}
      </Flex>
      <CheckedForm<Values>
        name="advance"
        onFinish={({ date }) => {
          if (date) advance.mutate({ to: date.unix() });
        }}
      >
        <Form.Item label={t('clocks.to')} htmlFor="advance_date" style={{ marginBottom: 0 }}>
          <Flex gap={12} wrap align="start">
            <Form.Item<Values>
              name="date"
              // A clock only moves forward.
              rules={[rule((date?: Dayjs) => (date?.unix() ?? 0) > clock.now, t('clocks.toWrong'))]}
            >
              <DateTimeField from={clock.now} />
            </Form.Item>
            <Button htmlType="submit" disabled={advance.isPending}>
              {t('clocks.toAction')}
            </Button>
          </Flex>
        </Form.Item>
      </CheckedForm>
      {advance.isError ? <ErrorAlert title={t('clocks.notAdvanced')} text={translateError(advance.error)} /> : null}
    </Flex>
  );
}

function Subscriptions({ customerId }: { customerId: string }) {
  const texts = useTexts();
  const { t } = texts;
  const { data } = useQuery(customerSubscriptionsQuery(customerId));
  return (
    <section aria-labelledby="clock-subscriptions">
      <Typography.Title level={3} id="clock-subscriptions">
        {t('clocks.subscriptions')}
      </Typography.Title>
      {data?.list.length ? (
        <Flex vertical gap={8}>
          {data.list.map((each) => (
            <Flex key={each.id} gap={12} align="center" wrap>
              <Link to="/console/subscriptions/$id" params={{ id: each.id }}>
                {subscriptionName(each, texts)}
              </Link>
              <SubscriptionTag subscription={each} />
            </Flex>
          ))}
        </Flex>
      ) : (
        <Typography.Text type="secondary">{data ? t('clocks.noSubscriptions') : t('state.loading')}</Typography.Text>
      )}
    </section>
  );
}
