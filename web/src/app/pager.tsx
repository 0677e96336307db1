import { Link } from '@tanstack/react-router';
import { useTexts } from '@/app/i18n';
import styles from './pager.module.css';

/** The first page, the last page and the neighbors of the current page; null marks a gap. */
export function visiblePages(page: number, pages: number): (number | null)[] {
  const visible = [...new Set([1, page - 1, page, page + 1, pages])].filter((each) => each >= 1 && each <= pages);
  return visible.flatMap((each, index) => (index > 0 && each - (visible[index - 1] ?? 0) > 1 ? [null, each] : [each]));
}

/** Pagination links. They keep the other search parameters. */
export function Pager({ page, pages }: { page: number; pages: number }) {
  const { t } = useTexts();
  if (pages <= 1) return null;
  const to = (next: number) =>
    ({ to: '.', search: (previous: object) => ({ ...previous, page: next > 1 ? next : undefined }) }) as unknown as {
      to: '/';
    };
  return (
    <nav className={styles.pager} aria-label={t('listing.pages')}>
      {page > 1 ? <Link {...to(page - 1)}>{t('listing.previous')}</Link> : null}
      <ol>
        {visiblePages(page, pages).map((each, index) => (
          <li key={each ?? `gap-${index}`}>
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
