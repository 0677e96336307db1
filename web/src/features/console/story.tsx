import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Subscription, TestClock } from '@/api/types';
import { momentText } from '@/lib/format';
import { nameOf } from './names';
import { customerSubscriptionsQuery } from './queries';
import styles from './test-clocks.module.css';
import { useTexts } from './texts';

type Event = TestClock['story'][number];

/** What happened on the clock's way, the latest first. */
export function Story({ story, customerId }: { story: Event[]; customerId: string }) {
  const { data } = useQuery(customerSubscriptionsQuery(customerId));
  const texts = useTexts();
  const { t, language } = texts;
  if (story.length === 0) return <p className={styles.quiet}>{t('clocks.noStory')}</p>;
  const latestFirst = story.map((event, place) => ({ event, place })).reverse();
  return (
    <ol className={styles.story} reversed>
      {latestFirst.map(({ event, place }) => (
        <li key={place}>
          <time dateTime={new Date(event.at * 1000).toISOString()}>{momentText(event.at * 1000, language)}</time>
          <span>{t(`story.${event.what}`)}</span>
          <Subject subject={event.subject} subscriptions={data?.list ?? []} />
        </li>
      ))}
    </ol>
  );
}

function Subject({ subject, subscriptions }: { subject: string | null; subscriptions: Subscription[] }) {
  const texts = useTexts();
  if (!subject) return null;
  if (subject.startsWith('in_')) {
    return (
      <Link to="/customer/invoice/$id" params={{ id: subject }} title={subject}>
        {texts.t('clocks.invoice')}
      </Link>
    );
  }
  if (subject.startsWith('sub_')) {
    const named = subscriptions.find(({ id }) => id === subject);
    return (
      <Link to="/customer/subscription/$id" params={{ id: subject }} title={subject}>
        {named ? nameOf(named, texts) : subject}
      </Link>
    );
  }
  return <span className={styles.quiet}>{subject}</span>;
}
