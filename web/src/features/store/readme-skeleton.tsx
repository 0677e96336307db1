import styles from './detail.module.css';

/** The place of a text in Markdown until its renderer has loaded. */
export function ReadmeSkeleton() {
  return (
    <div aria-hidden="true" className={styles.skeletonLines}>
      {['92%', '98%', '64%', '90%', '40%'].map((width) => (
        <span key={width} className={styles.skeletonLine} style={{ width }} />
      ))}
    </div>
  );
}
