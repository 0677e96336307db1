import { Link } from '@tanstack/react-router';
import type { TestClock } from '@/api/types';
import { momentText } from '@/lib/format';
import styles from './test-clocks.module.css';
import { useTexts } from './texts';

type Event = TestClock['story'][number];

/** What happened on the clock's way, the latest first. */
export function Story({ story }: { story: Event[] }) {
  const { t, language } = useTexts();
  if (story.length === 0) return <p className={styles.quiet}>{t('clocks.noStory')}</p>;
  const latestFirst = story.map((event, place) => ({ event, place })).reverse();
  return (
    <ol className={styles.story} reversed>
      {latestFirst.map(({ event, place }) => (
        <li key={place}>
          <time dateTime={new Date(event.at * 1000).toISOString()}>{momentText(event.at * 1000, language)}</time>
          <span>{t(`story.${event.what}`)}</span>
          <Subject subject={event.subject} />
        </li>
      ))}
    </ol>
  );
}

function Subject({ subject }: { subject: string | null }) {
  if (!subject) return null;
  if (subject.startsWith('in_')) {
    return (
      <Link to="/customer/invoice/$id" params={{ id: subject }}>
        {subject}
      </Link>
    );
  }
  if (subject.startsWith('sub_')) {
    return (
      <Link to="/customer/subscription/$id" params={{ id: subject }}>
        {subject}
      </Link>
    );
  }
  return <span className={styles.quiet}>{subject}</span>;
}
