import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import type { TestClock } from '@/api/types';
import { Failed, Notice } from '@/app/notice';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { switchMode } from '@/app/switch-mode';
import { spokenError } from '@/i18n/spoken';
import { Button } from '@/kit/button';
import { momentText } from '@/lib/format';
import { livemode, onLivemode } from '@/lib/livemode';
import { ClockPanel } from './clock-panel';
import { clocksQuery } from './queries';
import { StartClock } from './start-clock';
import styles from './test-clocks.module.css';
import { useTexts } from './texts';

/** Customers of test mode whose time the owner moves: choose one, or put another customer on a clock. */
export function TestClocks({ id }: { id?: string }) {
  const { t } = useTexts();
  const user = useUser();
  const live = useSyncExternalStore(onLivemode, livemode);
  usePageTitle(t('clocks.title'));
  if (user && user.role !== 'owner' && user.role !== 'admin') {
    return <Notice asPage title={t('clocks.forbidden')} text={t('error.403')} />;
  }
  if (live) {
    return (
      <Notice
        asPage
        title={t('clocks.title')}
        text={t('clocks.liveText')}
        action={
          <Button look="primary" onClick={() => switchMode(false)}>
            {t('clocks.toTest')}
          </Button>
        }
      />
    );
  }
  return (
    <div className={styles.page}>
      <div>
        <h1>{t('clocks.title')}</h1>
        <p className={styles.quiet}>{t('clocks.lead')}</p>
      </div>
      <div className={styles.columns}>
        <div className={styles.side}>
          <section aria-labelledby="clocks">
            <h2 id="clocks">{t('clocks.list')}</h2>
            <Clocks id={id} />
          </section>
          <section aria-labelledby="start">
            <h2 id="start">{t('clocks.start')}</h2>
            <StartClock />
          </section>
        </div>
        {id ? (
          <ClockPanel key={id} id={id} />
        ) : (
          <p className={`${styles.quiet} ${styles.hint}`}>{t('clocks.choose')}</p>
        )}
      </div>
    </div>
  );
}

function Clocks({ id }: { id?: string }) {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(clocksQuery);
  if (error && !data)
    return <Failed title={t('clocks.error')} text={spokenError(error)} onRetry={() => void refetch()} />;
  if (!data) return <div className={styles.waiting} aria-busy="true" />;
  if (data.list.length === 0) return <p className={styles.quiet}>{t('clocks.empty')}</p>;
  return (
    <ul className={styles.clocks}>
      {data.list.map((clock) => (
        <Row key={clock.id} clock={clock} current={clock.id === id} />
      ))}
    </ul>
  );
}

function Row({ clock, current }: { clock: TestClock; current: boolean }) {
  const { t, language } = useTexts();
  return (
    <li className={current ? styles.current : undefined}>
      <Link
        to="/console/test-clocks"
        search={{ id: clock.id }}
        className={styles.open}
        aria-current={current ? 'page' : undefined}
      >
        {clock.name}
      </Link>
      <span>{clock.customer?.name || clock.customer?.email || clock.customer?.did}</span>
      <span className={styles.quiet}>
        {clock.status === 'advancing' ? t('clocks.advancing') : momentText(clock.now * 1000, language)}
      </span>
    </li>
  );
}
