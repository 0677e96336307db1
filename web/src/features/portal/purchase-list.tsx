import { DownloadOutlined } from '@ant-design/icons';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, Card, Flex, Typography } from 'antd';
import { apiUrl } from '@/api/client';
import type { App } from '@/api/types';
import { LinkButton } from '@/features/billing/link-button';
import { subscriptionName } from '@/features/billing/price-text';
import { entitlementsQuery, subscriptionsQuery } from '@/features/billing/queries';
import { EmptyState, LoadError, Loading } from '@/features/billing/states';
import { EntitlementTag } from '@/features/billing/status';
import { useTexts } from '@/features/billing/texts';
import { dateText } from '@/lib/format';
import styles from './lists.module.css';
import { type Grant, type PurchasedApp, purchasedApps } from './purchases';

/** The customer's apps, each once, with its download and its grants. */
export function Purchases() {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(entitlementsQuery);
  if (error && !data)
    return <LoadError title={t('portal.purchases.error')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  if (data.list.length === 0) {
    return (
      <EmptyState text={t('portal.purchases.empty')}>
        <LinkButton to="/">{t('portal.purchases.browse')}</LinkButton>
      </EmptyState>
    );
  }
  return (
    <ul className={styles.rows}>
      {purchasedApps(data.list).map((each) => (
        <Purchase key={each.app.did} {...each} />
      ))}
    </ul>
  );
}

function Purchase({ app, grants, isDownloadable }: PurchasedApp) {
  const { t, text } = useTexts();
  const name = text(app.title) || app.name;
  const isDisputed = !isDownloadable && grants.some(({ status }) => status === 'suspended');
  const bundle = `/api/apps/${encodeURIComponent(app.did)}/${encodeURIComponent(app.version)}/bundle`;
  return (
    <li>
      <Card size="small">
        <Flex gap={16} align="center" wrap>
          {app.logo ? (
            <img src={app.logo} alt="" width={56} height={56} className={styles.logo} />
          ) : (
            <span className={styles.logo} aria-hidden="true" />
          )}
          <div className={styles.grow}>
            <Typography.Title level={3}>
              <Link to="/apps/$did/{-$version}" params={{ did: app.did, version: undefined }}>
                {name}
              </Link>
            </Typography.Title>
            <ul className={styles.grants} aria-label={t('portal.grants', { name })}>
              {grants.map((grant) => (
                <GrantLine key={grant.id} grant={grant} app={app} name={name} />
              ))}
            </ul>
          </div>
          <div className={styles.wide}>
            <Button
              {...(isDownloadable ? { href: apiUrl(bundle), download: true } : { disabled: true })}
              icon={<DownloadOutlined aria-hidden="true" />}
              aria-label={t('portal.downloadOf', { name, version: app.version })}
            >
              {t('portal.download', { version: app.version })}
            </Button>
            {isDisputed ? (
              <p>
                <Typography.Text type="secondary">{t('portal.downloadDisputed')}</Typography.Text>
              </p>
            ) : null}
          </div>
        </Flex>
      </Card>
    </li>
  );
}

function GrantLine({ grant, app, name }: { grant: Grant; app: App; name: string }) {
  const texts = useTexts();
  const { t, language } = texts;
  const { data: subscriptions } = useQuery(subscriptionsQuery);
  const date = dateText(grant.acquiredAt, language);
  if (grant.subscriptionId) {
    const subscription = subscriptions?.list.find(({ id }) => id === grant.subscriptionId);
    const plan = subscription ? subscriptionName(subscription, texts) : t('subscription.title');
    return (
      <li>
        <Typography.Text type="secondary">{t('portal.included', { name: plan })}</Typography.Text>
        <Link
          to="/customer/subscription/$id"
          params={{ id: grant.subscriptionId }}
          aria-label={t('portal.manageOf', { name: plan })}
        >
          {t('portal.manage')}
        </Link>
        <EntitlementTag status={grant.status} />
      </li>
    );
  }
  return (
    <li>
      <Typography.Text type="secondary">
        {t(app.pricing === 'paid' ? 'portal.acquired' : 'portal.acquiredFree', { date })}
      </Typography.Text>
      {grant.invoiceId ? (
        <Link to="/customer/invoice/$id" params={{ id: grant.invoiceId }} aria-label={t('portal.receiptOf', { name })}>
          {t('portal.receipt')}
        </Link>
      ) : null}
      <EntitlementTag status={grant.status} />
    </li>
  );
}
