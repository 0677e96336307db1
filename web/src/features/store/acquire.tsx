import { useState } from 'react';
import { mountPrefix } from '@/api/client';
import type { AppDetail } from '@/api/types';
import { Copyable } from '@/app/copyable';
import { useTexts } from '@/app/i18n';
import { ButtonLink } from '@/kit/button';
import { Download } from '@/kit/icons';
import { sizeText } from '@/lib/format';
import styles from './acquire.module.css';
import { pricesOf } from './price';
import { bundleUrl, checkoutUrl } from './queries';

/** A button with the price or the download, and a hint below it. */
export function Acquire({ app }: { app: AppDetail }) {
  const { t, language } = useTexts();
  const [started, setStarted] = useState<string | null>(null);
  const { first, others } = pricesOf(app, language);
  const version = { version: app.version, size: sizeText(app.size, language) };

  if (app.availability !== 'available')
    return (
      <div className={styles.acquire}>
        <p className={styles.hint}>{t('app.withdrawn')}</p>
      </div>
    );
  if (app.pricing === 'free' || app.entitled) {
    const mine = app.entitled && app.pricing === 'paid';
    return (
      <div className={styles.acquire}>
        <ButtonLink
          variant="primary"
          href={bundleUrl(app.did, app.version)}
          download
          onClick={() => setStarted(app.version)}
        >
          <Download size="1em" />
          {mine ? t('app.download') : t('app.get')}
        </ButtonLink>
        <p className={styles.hint}>{mine ? t('app.downloadHint', version) : t('app.getHint', version)}</p>
        <p role="status" className={styles.hint}>
          {started === app.version ? t('app.started', { version: started }) : ''}
        </p>
        <InstallCommand app={app} />
      </div>
    );
  }
  if (!app.payment_link_id || !first) {
    return (
      <div className={styles.acquire}>
        <p className={styles.hint}>{t('app.unavailable')}</p>
      </div>
    );
  }
  return (
    <div className={styles.acquire}>
      <ButtonLink variant="primary" href={checkoutUrl(app.payment_link_id)} className="money">
        {t('app.buy', { price: first })}
      </ButtonLink>
      {others.length > 0 ? <p className={styles.hint}>{t('app.buyOther', { prices: others.join(', ') })}</p> : null}
      <p className={styles.hint}>{t('app.buyHint')}</p>
      <InstallCommand app={app} />
    </div>
  );
}

/** The command that installs the shown version. It names the version if new installs get another one. */
function InstallCommand({ app }: { app: AppDetail }) {
  const { t } = useTexts();
  if (!app.installable) return null;
  const version = app.versions[0]?.version === app.version ? '' : `@${app.version}`;
  const store = `${window.location.origin}${mountPrefix()}`;
  return <Copyable label={t('app.install')} value={`souk install ${app.did}${version} --store ${store}`} />;
}
