import { useTexts } from '@/app/i18n';
import styles from './page-skeleton.module.css';

/** Placeholder of a page whose code and data are loading. antd's Skeleton is not loaded yet. */
export function PageSkeleton() {
  const { t } = useTexts();
  return (
    <div className={styles.page} aria-busy="true">
      <p className="sr-only" role="status">
        {t('state.loading')}
      </p>
      <div className={styles.title} />
      <div className={styles.block} />
      <div className={styles.list} />
      <div className={styles.list} />
    </div>
  );
}
