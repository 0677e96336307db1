import type { ReactNode } from 'react';
import styles from './banners.module.css';
import { ClockBanner } from './clock-banner';
import { DiskBanner } from './disk-banner';
import { RestoreBanner } from './restore-banner';

/** What an administrator must know about the installation, above a page of the console. `spaced`: with a margin below. */
export function Banners({ spaced = false }: { spaced?: boolean }): ReactNode {
  return (
    <div className={spaced ? `${styles.banners} ${styles.spaced}` : styles.banners}>
      <RestoreBanner />
      <ClockBanner />
      <DiskBanner />
    </div>
  );
}
