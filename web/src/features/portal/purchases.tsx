import { DownloadOutlined } from '@ant-design/icons';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { callAddress } from '@/api/client';
import type { Entitlement } from '@/api/types';
import { Failed, Notice } from '@/app/notice';
import { spokenError } from '@/i18n/spoken';
import { dayText } from '@/lib/format';
import styles from './purchases.module.css';
import { entitlementsQuery } from './queries';
import { useTexts } from './texts';

/** What belongs to the customer, each with its download. */
export function Purchases() {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(entitlementsQuery);
  if (error && !data)
    return <Failed title={t('portal.purchases.error')} text={spokenError(error)} onRetry={() => void refetch()} />;
  if (!data) return <div className={styles.waiting} aria-busy="true" />;
  if (data.list.length === 0) {
    return (
      <Notice
        title={t('portal.purchases.empty')}
        action={
          <Link to="/" className={styles.browse}>
            {t('portal.purchases.browse')}
          </Link>
        }
      />
    );
  }
  return (
    <ul className={styles.purchases}>
      {data.list.map((each) => (
        <Purchase key={each.id} entitlement={each} />
      ))}
    </ul>
  );
}

function Purchase({ entitlement }: { entitlement: Entitlement }) {
  const { t, text, language } = useTexts();
  const { app, acquired_at: acquired, invoice_id: invoice } = entitlement;
  const name = text(app.title) || app.name;
  const bundle = `/api/apps/${encodeURIComponent(app.did)}/${encodeURIComponent(app.version)}/bundle`;
  return (
    <li className={styles.purchase}>
      {app.logo ? (
        <img src={app.logo} alt="" width={56} height={56} />
      ) : (
        <span className={styles.noLogo} aria-hidden="true" />
      )}
      <div className={styles.names}>
        <h3>
          <Link to="/apps/$did/{-$version}" params={{ did: app.did, version: undefined }}>
            {name}
          </Link>
        </h3>
        <p>
          {t(app.pricing === 'paid' ? 'portal.acquired' : 'portal.acquiredFree', { date: dayText(acquired, language) })}
        </p>
      </div>
      <div className={styles.actions}>
        <Button
          href={callAddress(bundle)}
          download
          icon={<DownloadOutlined aria-hidden="true" />}
          aria-label={t('portal.downloadOf', { name, version: app.version })}
        >
          {t('portal.download', { version: app.version })}
        </Button>
        {invoice ? (
          <Link
            to="/customer/invoice/$id"
            params={{ id: invoice }}
            className={styles.receipt}
            aria-label={t('portal.receiptOf', { name })}
          >
            {t('portal.receipt')}
          </Link>
        ) : null}
      </div>
    </li>
  );
}
