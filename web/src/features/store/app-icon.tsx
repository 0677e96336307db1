import type { App } from '@/api/types';
import styles from './app-icon.module.css';

/** The app's logo, or its first letter. Decorative: the name is always next to it. */
export function AppIcon({ app, size }: { app: Pick<App, 'logo' | 'name'>; size: 56 | 96 }) {
  const className = `${styles.icon} ${styles[`size${size}`]}`;
  if (app.logo) return <img className={className} src={app.logo} alt="" width={size} height={size} loading="lazy" />;
  return (
    <span className={className} aria-hidden="true">
      {app.name.slice(0, 1).toUpperCase()}
    </span>
  );
}
