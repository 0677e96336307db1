import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTexts } from '@/app/i18n';
import { categoriesQuery } from '@/app/queries';
import styles from './category-chips.module.css';
import type { ListingSearch } from './queries';

/** Category links that keep the search. The row keeps its height while loading. */
export function CategoryChips({ current, search }: { current?: string; search: ListingSearch }) {
  const { t, text } = useTexts();
  const { data } = useQuery(categoriesQuery);
  const nextSearch: ListingSearch = { ...search, page: undefined };
  const filtering = Boolean(search.keyword || search.price || search.sort);
  return (
    <nav className={styles.chips} aria-label={t('listing.categories')}>
      <ul>
        <li>
          <Link
            to={filtering ? '/search' : '/'}
            search={nextSearch}
            className={styles.chip}
            aria-current={current ? undefined : 'page'}
          >
            {t('listing.allCategories')}
          </Link>
        </li>
        {data?.list.map((category) => (
          <li key={category.id}>
            <Link
              to="/category/$category"
              params={{ category: category.slug }}
              search={nextSearch}
              className={styles.chip}
              aria-current={category.slug === current ? 'page' : undefined}
            >
              {text(category.name)}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
