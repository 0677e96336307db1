import { Link } from '@tanstack/react-router';
import type { TestClock } from '@/api/types';
import en from '@/i18n/en/console.json';
import { momentText } from '@/lib/format';
import styles from './test-clocks.module.css';
import { type Key, type Texts, useTexts } from './texts';

type Event = TestClock['story'][number];

/** What happened on the clock's way, the latest first. */
export function Story({ story }: { story: Event[] }) {
  const texts = useTexts();
  const { t, language } = texts;
  if (story.length === 0) return <p className={styles.quiet}>{t('clocks.noStory')}</p>;
  const latestFirst = story.map((event, place) => ({ event, place })).reverse();
  return (
    <ol className={styles.story} reversed>
      {latestFirst.map(({ event, place }) => (
        <li key={place}>
          <time dateTime={new Date(event.at * 1000).toISOString()}>{momentText(event.at * 1000, language)}</time>
          <span>{whatText(event.what, texts)}</span>
          <Subject subject={event.subject} />
        </li>
      ))}
    </ol>
  );
}

/** An event by its name on the wire, in words; one that is not known yet is shown as it is called. */
export function whatText(what: string, { t }: Pick<Texts, 't'>): string {
  const key = `story.${what}`;
  return key in en ? t(key as Key) : what;
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
