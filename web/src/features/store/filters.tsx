import { useId } from 'react';
import { useTexts } from '@/app/i18n';
import { Chevron } from '@/kit/icons';
import styles from './filters.module.css';
import { type ListingSearch, PRICES, SORTS } from './queries';

interface FiltersProps {
  search: ListingSearch;
  onChange: (next: Partial<ListingSearch>) => void;
}

/** Price filter and sort order. */
export function Filters({ search, onChange }: FiltersProps) {
  const { t } = useTexts();
  const group = useId();
  const price = search.price ?? 'any';
  return (
    <>
      <div role="radiogroup" aria-label={t('listing.price')} className={styles.prices}>
        {(['any', ...PRICES] as const).map((value) => (
          <label key={value} className={styles.price}>
            <input
              type="radio"
              name={group}
              value={value}
              checked={value === price}
              onChange={() => onChange({ price: value === 'any' ? undefined : value })}
            />
            <span>{t(`listing.price.${value}`)}</span>
          </label>
        ))}
      </div>
      <span className={styles.sort}>
        <select
          aria-label={t('listing.sort')}
          value={search.sort ?? 'downloads'}
          onChange={({ target }) => {
            const sort = SORTS.find((each) => each === target.value);
            onChange({ sort: sort === 'downloads' ? undefined : sort });
          }}
        >
          {SORTS.map((value) => (
            <option key={value} value={value}>
              {t(`listing.sort.${value}`)}
            </option>
          ))}
        </select>
        <Chevron width={14} height={14} />
      </span>
    </>
  );
}
