import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { api } from '@/api/client';
import type { TestClock } from '@/api/types';
import { Failed } from '@/app/notice';
import { queryClient } from '@/app/queries';
import { spokenError } from '@/i18n/spoken';
import { Alert } from '@/kit/alert';
import { announce } from '@/kit/announce';
import { Button } from '@/kit/button';
import { TextField } from '@/kit/field';
import { Spinner } from '@/kit/icons';
import { localInput, momentText } from '@/lib/format';
import { progress } from './clock-rules';
import { nameOf } from './names';
import { clockQuery, customerSubscriptionsQuery } from './queries';
import { Story } from './story';
import styles from './test-clocks.module.css';
import { useTexts } from './texts';

type Step = { by: 'day' | 'next_invoice' | 'year' } | { to: number };

/** One clock: what time it is there, how to move it, and what happened on the way. */
export function ClockPanel({ id }: { id: string }) {
  const { t, language } = useTexts();
  const { data: clock, error, refetch } = useQuery(clockQuery(id));
  useArrival(clock);
  if (error && !clock)
    return <Failed title={t('clocks.error')} text={spokenError(error)} onRetry={() => void refetch()} />;
  if (!clock) return <div className={styles.waiting} aria-busy="true" />;
  return (
    <section className={styles.panel} aria-labelledby="clock">
      <header>
        <h2 id="clock">{clock.name}</h2>
        <p>{[clock.customer?.name, clock.customer?.email].filter(Boolean).join(' · ')}</p>
        <p className={styles.did}>{clock.customer?.did}</p>
      </header>
      <p className={`${styles.now} figures`}>
        <span className={styles.quiet}>{t('clocks.now')}</span>
        <time dateTime={new Date(clock.now * 1000).toISOString()}>{momentText(clock.now * 1000, language)}</time>
      </p>
      {clock.status === 'advancing' ? <Moving clock={clock} /> : <Advance clock={clock} />}
      <Subscriptions customerId={clock.customer_id} />
      <section aria-labelledby="story">
        <h3 id="story">{t('clocks.story')}</h3>
        <Story story={clock.story} customerId={clock.customer_id} />
      </section>
    </section>
  );
}

/** When a clock has come to rest, whatever hangs on its time is asked again. */
function useArrival(clock: TestClock | undefined): void {
  const { t } = useTexts();
  const moving = useRef(false);
  useEffect(() => {
    if (!clock) return;
    if (moving.current && clock.status === 'ready') {
      announce(t('clocks.arrived'));
      void queryClient.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] !== 'test-clocks' || queryKey[1] === 'list',
      });
    }
    moving.current = clock.status === 'advancing';
  }, [clock, t]);
}

function Moving({ clock }: { clock: TestClock }) {
  const { t, language } = useTexts();
  const [from] = useState(clock.now);
  return (
    <div className={styles.moving} role="status">
      <Spinner />
      <p>
        {clock.target === null
          ? t('clocks.advancing')
          : t('clocks.movingTo', { date: momentText(clock.target * 1000, language) })}
      </p>
      {clock.target === null ? null : (
        <progress aria-label={t('clocks.progress')} max={1} value={progress(from, clock.now, clock.target)} />
      )}
    </div>
  );
}

const STEPS = ['day', 'next_invoice', 'year'] as const;

function Advance({ clock }: { clock: TestClock }) {
  const { t } = useTexts();
  const [date, setDate] = useState('');
  const [wrong, setWrong] = useState(false);
  const advance = useMutation({
    mutationFn: (step: Step) => api.post<TestClock>(`/api/test-clocks/${encodeURIComponent(clock.id)}/advance`, step),
    onSuccess: (moved) => queryClient.setQueryData(clockQuery(clock.id).queryKey, moved),
  });
  const toDate = (event: FormEvent) => {
    event.preventDefault();
    const to = Math.floor(new Date(date).getTime() / 1000);
    // Time on a clock goes forward only.
    const ahead = Number.isFinite(to) && to > clock.now;
    setWrong(!ahead);
    if (ahead) advance.mutate({ to });
    else document.getElementById('clock-date')?.focus();
  };
  return (
    <div className={styles.advance}>
      <div className={styles.steps}>
        {STEPS.map((by) => (
          <Button
            key={by}
            look={by === 'next_invoice' ? 'primary' : 'secondary'}
            disabled={advance.isPending}
            onClick={() => advance.mutate({ by })}
          >
            {t(`clocks.by.${by}`)}
          </Button>
        ))}
      </div>
      <form className={styles.toDate} onSubmit={toDate} noValidate>
        <TextField
          id="clock-date"
          name="date"
          type="datetime-local"
          label={t('clocks.to')}
          error={wrong ? t('clocks.toWrong') : undefined}
          min={localInput(clock.now)}
          value={date}
          onChange={(event) => {
            setDate(event.target.value);
            setWrong(false);
          }}
        />
        <Button type="submit" disabled={advance.isPending}>
          {t('clocks.toAction')}
        </Button>
      </form>
      {advance.isError ? (
        <Alert tone="danger" urgent title={t('clocks.notAdvanced')}>
          <p>{spokenError(advance.error)}</p>
        </Alert>
      ) : null}
    </div>
  );
}

function Subscriptions({ customerId }: { customerId: string }) {
  const texts = useTexts();
  const { t } = texts;
  const { data } = useQuery(customerSubscriptionsQuery(customerId));
  return (
    <section aria-labelledby="clock-subscriptions">
      <h3 id="clock-subscriptions">{t('clocks.subscriptions')}</h3>
      {data?.list.length ? (
        <ul className={styles.subscriptions}>
          {data.list.map((each) => (
            <li key={each.id}>
              <Link to="/customer/subscription/$id" params={{ id: each.id }}>
                {nameOf(each, texts)}
              </Link>
              <span className={styles.quiet}>{t(`clocks.status.${each.status}`)}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p className={styles.quiet}>{data ? t('clocks.noSubscriptions') : t('state.loading')}</p>
      )}
    </section>
  );
}
