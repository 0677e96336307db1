import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import type { AppDetail } from '@/api/types';
import { useTexts } from '@/app/i18n';
import { dateText, sizeText } from '@/lib/format';
import { ReadmeSkeleton } from './readme-skeleton';
import styles from './versions.module.css';

const Readme = lazy(() => import('./readme'));

/** The timeline of versions, newest first, with their changelogs. */
export function Versions({ app }: { app: AppDetail }) {
  const { t, text, language } = useTexts();
  return (
    <section aria-labelledby="versions">
      <h2 id="versions">{t('app.versions')}</h2>
      <ol className={styles.versions}>
        {app.versions.map((each, index) => (
          <li key={each.version} aria-current={each.version === app.version ? 'true' : undefined}>
            <h3>
              {each.version === app.version ? (
                <span>{each.version}</span>
              ) : (
                <Link
                  to="/apps/$did/{-$version}"
                  params={{ did: app.did, version: index === 0 ? undefined : each.version }}
                  aria-label={t('app.showVersion', { version: each.version })}
                >
                  {each.version}
                </Link>
              )}
              {index === 0 ? <span className={styles.tag}>{t('app.latest')}</span> : null}
              {each.version === app.version && index !== 0 ? (
                <span className={styles.tag}>{t('app.current')}</span>
              ) : null}
            </h3>
            <p className={styles.when}>
              <time dateTime={each.published_at}>{dateText(each.published_at, language)}</time> ·{' '}
              {sizeText(each.size, language)}
            </p>
            <div className={styles.changes}>
              <Suspense fallback={<ReadmeSkeleton />}>
                <Readme source={text(each.changelog)} />
              </Suspense>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
