import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { AppDetail } from '@/api/types';
import { Copyable } from '@/app/copyable';
import { useTexts } from '@/app/i18n';
import { Shield } from '@/kit/store-icons';
import { countText, dateText } from '@/lib/format';
import styles from './facts.module.css';
import { pricesOf } from './price';

/** The sidebar: facts about the app, and why it can be trusted. */
export function Facts({ app }: { app: AppDetail }) {
  const { t, text, language } = useTexts();
  const { first, others } = pricesOf(app, language);
  const paid = [first ?? t('price.paid'), ...others.map((other) => t('price.or', { price: other }))].join(' ');
  const price = app.pricing === 'free' ? t('price.free') : paid;
  const digest = app.versions.find((each) => each.version === app.version)?.sha256;
  const facts: [string, ReactNode][] = [
    [t('app.price'), price],
    [t('app.published'), dateText(app.created_at, language)],
  ];
  if (app.downloads_month > 0) {
    facts.push([t('app.downloads'), t('app.downloadsMonth', { number: countText(app.downloads_month, language) })]);
  }
  if (app.license) facts.push([t('app.license'), app.license.replace(/^LicenseRef-/, '')]);
  if (app.category) {
    facts.push([
      t('app.category'),
      <Link key="category" to="/category/$category" params={{ category: app.category.slug }}>
        {text(app.category.name)}
      </Link>,
    ]);
  }
  if (app.website && /^https?:\/\//.test(app.website)) {
    facts.push([
      t('app.website'),
      <a key="website" href={app.website} target="_blank" rel="nofollow ugc noopener noreferrer">
        {new URL(app.website).hostname}
        <span className="sr-only"> {t('a11y.newTab')}</span>
      </a>,
    ]);
  }
  const { requirements, components } = app;
  const named = (required: boolean) =>
    components
      .filter((each) => each.required === required)
      .map((each) => `${each.title} ${each.version}`.trim())
      .join(', ');
  const needs: [string, string][] = [
    [t('app.dependencies'), named(true)],
    [t('app.components'), named(false)],
    [t('app.server'), requirements.server],
    [t('app.nodejs'), requirements.nodejs],
    [t('app.os'), requirements.os.join(', ')],
    [t('app.cpu'), requirements.cpu.join(', ')],
    [t('app.docker'), app.docker ? t('app.dockerImage') : ''],
  ];
  facts.push(...needs.filter(([, fact]) => fact !== ''));
  return (
    <aside className={styles.facts} aria-labelledby="facts">
      <h2 id="facts">{t('app.facts')}</h2>
      <dl>
        {facts.map(([term, fact]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{fact}</dd>
          </div>
        ))}
      </dl>
      <h2 className={styles.trust}>{t('app.trust')}</h2>
      <ul>
        {app.developer.verified ? (
          <li>
            <Shield /> {t('app.trust.verified')}
          </li>
        ) : null}
        <li>
          <Shield /> {t('app.trust.digest')}
        </li>
      </ul>
      {digest ? <Copyable label={t('app.digest')} value={digest} /> : null}
      <Copyable label={t('app.did')} value={app.did} />
    </aside>
  );
}
