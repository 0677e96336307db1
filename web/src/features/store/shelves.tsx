import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTexts } from '@/app/i18n';
import { ErrorState } from '@/app/states';
import { AppGrid } from './app-grid';
import styles from './listing.module.css';
import { shelvesQuery } from './queries';

/** Each shelf and the sort order of its full list. */
const SHELVES = [
  ['new', 'created'],
  ['updated', 'updated'],
  ['trending', 'downloads'],
] as const;

export function Shelves() {
  const { t } = useTexts();
  const { data, isError, refetch } = useQuery(shelvesQuery);
  if (isError && !data) return <ErrorState title={t('listing.error')} onRetry={() => void refetch()} />;
  return SHELVES.filter(([shelf]) => !data || data[shelf].length > 0).map(([shelf, sort]) => (
    <section key={shelf} aria-labelledby={`shelf-${shelf}`} aria-busy={!data}>
      <div className={styles.shelfHead}>
        <h2 id={`shelf-${shelf}`}>{t(`home.${shelf}`)}</h2>
        <Link to="/search" search={{ sort }}>
          {t(`home.see.${shelf}`)}
        </Link>
      </div>
      <AppGrid shelf apps={data?.[shelf] ?? null} />
    </section>
  ));
}
