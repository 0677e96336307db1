import { Link } from '@tanstack/react-router';
import type { App } from '@/api/types';
import { useTexts } from '@/app/i18n';
import { Download } from '@/kit/icons';
import { CheckCircle } from '@/kit/store-icons';
import { countText } from '@/lib/format';
import styles from './app-card.module.css';
import { AppIcon } from './app-icon';
import { pricesOf } from './price';

/** An app in a shelf or a result list. The whole card is clickable; the link text is the name. */
export function AppCard({ app }: { app: App }) {
  const { t, text, language } = useTexts();
  const { first } = pricesOf(app, language);
  const name = text(app.title) || app.name;
  return (
    <article className={styles.card}>
      <AppIcon app={app} size={56} />
      <div className={styles.body}>
        <h3 className={styles.name}>
          <Link to="/apps/$did/{-$version}" params={{ did: app.did, version: undefined }}>
            {name}
          </Link>
        </h3>
        <p className={styles.developer}>
          <span>{t('card.by', { developer: app.developer.name })}</span>
          {app.developer.verified ? <CheckCircle className={styles.verified} aria-label={t('card.verified')} /> : null}
        </p>
      </div>
      <p className={styles.text}>{text(app.description)}</p>
      <p className={styles.foot}>
        {app.entitled && app.pricing === 'paid' ? (
          <strong className={styles.owned}>
            <CheckCircle /> {t('card.owned')}
          </strong>
        ) : (
          <strong className="money">{app.pricing === 'free' ? t('price.free') : (first ?? t('price.paid'))}</strong>
        )}
        <span className="figures">
          <Download size="1em" /> <span aria-hidden="true">{countText(app.downloads, language, true)}</span>
          <span className="sr-only">{t('card.downloads', { count: app.downloads })}</span>
        </span>
      </p>
    </article>
  );
}

/** Placeholder of a card. */
export function AppCardSkeleton() {
  return (
    <div className={`${styles.card} ${styles.skeleton}`} aria-hidden="true">
      <span className={styles.skeletonIcon} />
      <div className={styles.body}>
        <span className={styles.skeletonLine} style={{ width: '60%' }} />
        <span className={styles.skeletonLine} style={{ width: '40%' }} />
      </div>
      <p className={styles.text}>
        <span className={styles.skeletonLine} style={{ width: '95%' }} />
        <span className={styles.skeletonLine} style={{ width: '70%' }} />
      </p>
      <p className={styles.foot}>
        <span className={styles.skeletonLine} style={{ width: 56 }} />
      </p>
    </div>
  );
}
