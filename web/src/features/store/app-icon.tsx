import type { App } from '@/api/types';
import styles from './app-icon.module.css';

/** The app's logo, or its first letter on a quiet ground. Decorative: the name always stands beside it. */
export function AppIcon({ app, size }: { app: Pick<App, 'logo' | 'name'>; size: 40 | 56 | 96 }) {
  const style = { width: size, height: size };
  if (app.logo)
    return (
      <img className={styles.icon} style={style} src={app.logo} alt="" width={size} height={size} loading="lazy" />
    );
  return (
    <span className={styles.icon} style={{ ...style, fontSize: size / 2 }} aria-hidden="true">
      {app.name.slice(0, 1).toUpperCase()}
    </span>
  );
}
