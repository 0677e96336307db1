import { useTexts } from '@/app/i18n';
import styles from './page-skeleton.module.css';

/** The shape of a page while its code and its data are loading. antd's skeleton would come with the code. */
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
