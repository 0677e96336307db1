import { Link } from '@tanstack/react-router';
import { useTexts } from '@/app/i18n';
import styles from './pager.module.css';

/** First, last, and the neighbours of the current page; null stands for a gap. */
export function shownPages(page: number, pages: number): (number | null)[] {
  const wanted = [...new Set([1, page - 1, page, page + 1, pages])].filter((each) => each >= 1 && each <= pages);
  return wanted.flatMap((each, place) => (place > 0 && each - (wanted[place - 1] ?? 0) > 1 ? [null, each] : [each]));
}

/** Pages as links: each has an address, the current one stays where the rest of the search is. */
export function Pager({ page, pages }: { page: number; pages: number }) {
  const { t } = useTexts();
  if (pages <= 1) return null;
  const to = (next: number) =>
    ({ to: '.', search: (kept: object) => ({ ...kept, page: next > 1 ? next : undefined }) }) as unknown as { to: '/' };
  return (
    <nav className={styles.pager} aria-label={t('listing.pages')}>
      {page > 1 ? <Link {...to(page - 1)}>{t('listing.previous')}</Link> : null}
      <ol>
        {shownPages(page, pages).map((each, place) => (
          <li key={each ?? `gap-${place}`}>
            {each === null ? (
              <span aria-hidden="true">…</span>
            ) : (
              <Link
                {...to(each)}
                aria-label={t('listing.page', { page: each })}
                aria-current={each === page ? 'page' : undefined}
              >
                {each}
              </Link>
            )}
          </li>
        ))}
      </ol>
      {page < pages ? <Link {...to(page + 1)}>{t('listing.next')}</Link> : null}
    </nav>
  );
}
