import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { ApiError } from '@/api/error';
import type { AppDetail } from '@/api/types';
import { useTexts } from '@/app/i18n';
import { usePageTitle } from '@/app/page';
import { EmptyState, ErrorState } from '@/app/states';
import { translateError } from '@/i18n/translate';
import { CheckCircle } from '@/kit/store-icons';
import { countText, dateText, sizeText } from '@/lib/format';
import { Acquire } from './acquire';
import { AppIcon } from './app-icon';
import styles from './detail.module.css';
import { Facts } from './facts';
import { Instances } from './instances';
import { Plans } from './plans';
import { appQuery } from './queries';
import { ReadmeSkeleton } from './readme-skeleton';
import { Screenshots } from './screenshots';
import { Versions } from './versions';

const Readme = lazy(() => import('./readme'));

export function Detail({ did, version }: { did: string; version?: string }) {
  const { t, text } = useTexts();
  const { data, error, refetch } = useQuery(appQuery(did, version));
  const missing = error instanceof ApiError && error.status === 404;
  usePageTitle(data ? text(data.title) || data.name : missing ? t('app.notFound') : undefined);

  if (data) return <App app={data} />;
  if (missing) {
    return (
      <EmptyState
        asPage
        title={t('app.notFound')}
        text={t('app.notFoundText')}
        action={
          <Link to="/" className={styles.backLink}>
            {t('app.toStore')}
          </Link>
        }
      />
    );
  }
  if (error) return <ErrorState title={t('app.error')} text={translateError(error)} onRetry={() => void refetch()} />;
  return <DetailSkeleton />;
}

function App({ app }: { app: AppDetail }) {
  const { t, text } = useTexts();
  const name = text(app.title) || app.name;
  // Removes the readme's title, which the page heading already shows.
  const readme = text(app.readme).replace(/^\s*#\s[^\n]*\n+/, '');
  return (
    <article className={styles.detail}>
      <div className={styles.head}>
        <AppIcon app={app} size={96} />
        <div className={styles.names}>
          <h1>{name}</h1>
          <p className={styles.developer}>
            <Link to="/profile" search={{ did: app.developer.did, name: app.developer.name }}>
              {app.developer.name}
            </Link>
            {app.developer.verified ? (
              <CheckCircle className={styles.verified} aria-label={t('card.verified')} />
            ) : null}
          </p>
          <p className={styles.text}>{text(app.description)}</p>
        </div>
        <Acquire app={app} />
      </div>
      <FactsStrip app={app} />
      <OlderVersion app={app} />
      <Plans plans={app.plans} />
      <Screenshots shots={app.screenshots} />
      <div className={styles.columns}>
        <div className={styles.left}>
          <section aria-labelledby="about">
            <h2 id="about">{t('app.about')}</h2>
            {readme ? (
              <Suspense fallback={<ReadmeSkeleton />}>
                <Readme source={readme} />
              </Suspense>
            ) : (
              <p className={styles.quiet}>{t('app.noReadme')}</p>
            )}
          </section>
          <Versions app={app} />
          <Instances did={app.did} />
        </div>
        <Facts app={app} />
      </div>
    </article>
  );
}

/** The key facts in one line. */
function FactsStrip({ app }: { app: AppDetail }) {
  const { t, text, language } = useTexts();
  const shown = app.versions.find(({ version }) => version === app.version);
  const facts: [string, string][] = [
    [t('app.version'), app.version],
    [t('app.updated'), dateText(shown?.published_at ?? app.updated_at, language)],
    [t('app.size'), sizeText(app.size, language)],
    [t('app.downloads'), countText(app.downloads, language)],
    ...(app.category ? [[t('app.category'), text(app.category.name)] as [string, string]] : []),
  ];
  return (
    <dl className={styles.strip}>
      {facts.map(([term, fact]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd className="figures">{fact}</dd>
        </div>
      ))}
    </dl>
  );
}

function OlderVersion({ app }: { app: AppDetail }) {
  const { t } = useTexts();
  const latest = app.versions[0]?.version;
  if (!latest || latest === app.version) return null;
  return (
    <p className={styles.older} role="note">
      {t('app.older', { version: app.version, latest })}{' '}
      <Link to="/apps/$did/{-$version}" params={{ did: app.did, version: undefined }}>
        {t('app.toLatest')}
      </Link>
    </p>
  );
}

function DetailSkeleton() {
  const { t } = useTexts();
  return (
    <div className={styles.detail} aria-busy="true">
      <p className="sr-only">{t('state.loading')}</p>
      <div className={styles.head} aria-hidden="true">
        <span className={styles.skeletonIcon} />
        <div className={styles.names}>
          <span className={styles.skeletonLine} style={{ width: 240, height: 28 }} />
          <span className={styles.skeletonLine} style={{ width: 140 }} />
          <span className={styles.skeletonLine} style={{ width: '80%' }} />
        </div>
        <span className={styles.skeletonLine} style={{ width: 240, height: 44 }} />
      </div>
      <div className={styles.strip} aria-hidden="true" style={{ height: 78 }} />
      <span className={styles.skeletonLine} style={{ height: 240, borderRadius: 10 }} aria-hidden="true" />
      <ReadmeSkeleton />
    </div>
  );
}
