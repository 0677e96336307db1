import type { Subscription } from '@/api/types';
import { momentText } from '@/lib/format';
import { timeLine, timeOf } from './subscription-rules';
import { useTexts } from './texts';
import styles from './time-line.module.css';

/** What happened and what happens next; what is still to come is said in words as well as drawn hollow. */
export function TimeLine({ subscription }: { subscription: Subscription }) {
  const { t, language } = useTexts();
  return (
    <ol className={styles.line}>
      {timeLine(subscription, timeOf(subscription)).map(({ name, at, coming }) => (
        <li key={`${name}-${at}`} className={coming ? styles.coming : undefined} data-event={name}>
          <span className={styles.name}>{t(`event.${name}`)}</span>
          <time dateTime={new Date(at * 1000).toISOString()}>{momentText(at * 1000, language)}</time>
        </li>
      ))}
    </ol>
  );
}
