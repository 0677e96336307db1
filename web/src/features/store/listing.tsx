import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Category } from '@/api/types';
import { useTexts } from '@/app/i18n';
import { usePageTitle } from '@/app/page';
import { Pager } from '@/app/pager';
import { categoriesQuery, useStore } from '@/app/queries';
import { EmptyState, ErrorState } from '@/app/states';
import { Button } from '@/kit/button';
import { AppGrid } from './app-grid';
import { CategoryChips } from './category-chips';
import { Filters } from './filters';
import styles from './listing.module.css';
import { APPS_PER_PAGE, appsQuery, type ListingSearch } from './queries';
import { Shelves } from './shelves';

/** Home, search and category share this screen: shelves without filters, else the matching apps. */
export function Listing({
  search,
  category,
  home = false,
}: {
  search: ListingSearch;
  category?: string;
  home?: boolean;
}) {
  const isFiltered = Boolean(search.keyword || search.price || search.sort || search.page);
  return (
    <div className={styles.listing}>
      <Heading search={search} slug={category} home={home && !isFiltered} />
      <CategoryChips current={category} search={search} />
      {home && !isFiltered ? <Shelves /> : <Results search={search} category={category} />}
    </div>
  );
}

function Heading({ search, slug, home }: { search: ListingSearch; slug?: string; home: boolean }) {
  const { t, text } = useTexts();
  const store = useStore();
  const { data } = useQuery(categoriesQuery);
  const category: Category | undefined = data?.list.find((each) => each.slug === slug);
  const { keyword } = search;
  let title = t('home.all');
  if (keyword && category) title = t('listing.resultsIn', { keyword, category: text(category.name) });
  else if (keyword) title = t('listing.results', { keyword });
  else if (slug) title = category ? text(category.name) : slug;
  usePageTitle(home ? '' : title);
  if (home) return <h1 className="statement">{text(store?.description) || t('home.statement')}</h1>;
  return <h1 className={styles.title}>{title}</h1>;
}

function Results({ search, category }: { search: ListingSearch; category?: string }) {
  const { t } = useTexts();
  const navigate = useNavigate();
  const { data, isError, isPlaceholderData, refetch } = useQuery(appsQuery(search, category));
  const change = (next: Partial<ListingSearch>) =>
    void navigate({
      to: '.',
      search: { ...search, page: undefined, ...next },
      replace: true,
      resetScroll: false,
    } as never);
  const pages = Math.ceil((data?.count ?? 0) / APPS_PER_PAGE);

  return (
    <section aria-labelledby="results">
      <h2 id="results" className="sr-only">
        {t('home.all')}
      </h2>
      <fieldset className={styles.filters}>
        <legend className="sr-only">{t('listing.filters')}</legend>
        <p className={styles.count} role="status">
          {data && !isPlaceholderData ? t('listing.count', { count: data.count }) : ''}
        </p>
        <Filters search={search} onChange={change} />
      </fieldset>
      {isError && !data ? (
        <ErrorState title={t('listing.error')} onRetry={() => void refetch()} />
      ) : data?.count === 0 ? (
        <EmptyState
          title={t('listing.empty.title')}
          text={t(category ? 'listing.empty.textIn' : 'listing.empty.text')}
          action={
            <Button onClick={() => void navigate({ to: '/search', search: {} })}>{t('listing.empty.reset')}</Button>
          }
        />
      ) : (
        <div className={isPlaceholderData ? styles.stale : undefined} aria-busy={!data || isPlaceholderData}>
          <AppGrid apps={data?.list ?? null} skeletons={12} />
          <Pager page={search.page ?? 1} pages={pages} />
        </div>
      )}
    </section>
  );
}
