import { useQuery } from '@tanstack/react-query';
import { useTexts } from '@/app/i18n';
import styles from './instances.module.css';
import { instancesQuery } from './queries';

/** The instances that are shown, those that were registered last. */
const SHOWN = 10;

/** The address of an instance without its scheme; undefined: it is none that a page may link to. */
export function instanceName(address: string): string | undefined {
  if (!/^https?:\/\//i.test(address)) return undefined;
  try {
    const { host, pathname } = new URL(address);
    return `${host}${pathname.replace(/\/+$/, '')}`;
  } catch {
    return undefined;
  }
}

/** The public servers on which the app runs. Without any, or if they can't be loaded, there is no such part. */
export function Instances({ did }: { did: string }) {
  const { t } = useTexts();
  const { data } = useQuery(instancesQuery(did));
  const linked = (data ?? []).flatMap(({ appId, appUrl }) => {
    const name = instanceName(appUrl);
    return name === undefined ? [] : [{ appId, appUrl, name }];
  });
  if (linked.length === 0) return null;
  const hidden = linked.length - SHOWN;
  return (
    <section aria-labelledby="instances">
      <h2 id="instances">{t('app.instances')}</h2>
      <p className={styles.quiet}>{t('app.instancesText')}</p>
      <ul className={styles.instances}>
        {linked.slice(0, SHOWN).map(({ appId, appUrl, name }) => (
          <li key={appId}>
            <a href={appUrl} target="_blank" rel="nofollow ugc noopener noreferrer">
              {name}
              <span className="sr-only"> {t('a11y.newTab')}</span>
            </a>
          </li>
        ))}
      </ul>
      {hidden > 0 ? <p className={styles.quiet}>{t('app.instancesMore', { count: hidden })}</p> : null}
    </section>
  );
}
