import type { App } from '@/api/types';
import { AppCard, AppCardSkeleton } from './app-card';
import styles from './app-grid.module.css';

const SHELF_LENGTH = 4;

/** Fills from 280 px. A shelf keeps to one row on wide pages; null is a grid whose apps are on their way. */
export function AppGrid({ apps, shelf = false, places = 8 }: { apps: App[] | null; shelf?: boolean; places?: number }) {
  const className = `${styles.grid} ${shelf ? styles.shelf : ''}`;
  const length = shelf ? SHELF_LENGTH : places;
  if (!apps) {
    return (
      <div className={className} aria-hidden="true">
        {Array.from({ length }, (_, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: places have no other name.
          <AppCardSkeleton key={place} />
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
