import type { App } from '@/api/types';
import { AppCard, AppCardSkeleton } from './app-card';
import styles from './app-grid.module.css';

const SHELF_LENGTH = 4;

/** A grid with columns of at least 280 px. A shelf has one row on wide pages. `apps` is null while loading. */
export function AppGrid({
  apps,
  shelf = false,
  skeletons = 8,
}: {
  apps: App[] | null;
  shelf?: boolean;
  skeletons?: number;
}) {
  const className = `${styles.grid} ${shelf ? styles.shelf : ''}`;
  const length = shelf ? SHELF_LENGTH : skeletons;
  if (!apps) {
    return (
      <div className={className} aria-hidden="true">
        {Array.from({ length }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no other key.
          <AppCardSkeleton key={index} />
        ))}
      </div>
    );
  }
  return (
    <ul className={className}>
      {(shelf ? apps.slice(0, SHELF_LENGTH) : apps).map((app) => (
        <li key={app.did}>
          <AppCard app={app} />
        </li>
      ))}
    </ul>
  );
}
