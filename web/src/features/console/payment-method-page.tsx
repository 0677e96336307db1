import { useQuery } from '@tanstack/react-query';
import { Alert, Descriptions, Typography } from 'antd';
import { ApiError } from '@/api/error';
import type { PaymentMethod } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { BackLink } from '@/features/billing/back-link';
import { methodText } from '@/features/billing/invoice-text';
import styles from '@/features/billing/pages.module.css';
import { LoadError, Loading, PageResult, Section } from '@/features/billing/states';
import { useTexts as useBillingTexts } from '@/features/billing/texts';
import { translateProblem } from '@/i18n/translate';
import { MethodGas } from './method-gas';
import own from './method-gas.module.css';
import { methodCheckQuery, methodQuery } from './queries';
import { RequireAdmin } from './require-admin';
import { useTexts } from './texts';

/** A payment method: whether it works, and whether the store has staked for gas at its network. */
export function PaymentMethodPage({ id }: { id: string }) {
  const { t } = useTexts();
  const { t: billing } = useBillingTexts();
  const { data, error, refetch } = useQuery(methodQuery(id));
  const name = data ? methodText(data, { t: billing }) : t('methods.method');
  usePageTitle(name);
  const notFound = error instanceof ApiError && error.status === 404;
  return (
    <RequireAdmin>
      <div className={`${styles.page} ${styles.invoice}`}>
        <BackLink to="/console/payment-methods">{t('methods.title')}</BackLink>
        {data ? (
          <>
            <Typography.Title level={1}>{name}</Typography.Title>
            <MethodDetails method={data} />
            <MethodState id={id} />
          </>
        ) : notFound ? (
          <PageResult status="warning" title={t('methods.notFound')} text={t('methods.notFoundText')} />
        ) : error ? (
          <LoadError title={t('methods.error')} error={error} onRetry={() => void refetch()} />
        ) : (
          <Loading title rows={8} />
        )}
      </div>
    </RequireAdmin>
  );
}

function MethodDetails({ method }: { method: PaymentMethod }) {
  const { t } = useTexts();
  const settings = Object.values(method.settings ?? {})[0] as Record<string, string | undefined> | undefined;
  const network = settings?.chain_id ?? settings?.api_host;
  return (
    <Descriptions
      className={`${styles.details} ${own.facts}`}
      column={{ xs: 1, sm: 2 }}
      layout="vertical"
      colon={false}
      items={[
        {
          key: 'status',
          label: t('methods.status'),
          children: t(method.active ? 'methods.active' : 'methods.inactive'),
        },
        {
          key: 'currencies',
          label: t('methods.currencies'),
          children: (method.payment_currencies ?? []).map(({ symbol }) => symbol).join(', '),
        },
        ...(network
          ? [
              {
                key: 'network',
                label: t(method.type === 'stripe' ? 'methods.apiAddress' : 'methods.network'),
                children: network,
              },
            ]
          : []),
      ]}
    />
  );
}

/** What the method's network says about it. */
function MethodState({ id }: { id: string }) {
  const { t } = useTexts();
  const { data, error, isFetching, refetch } = useQuery(methodCheckQuery(id));
  return (
    <Section id="network" title={t('methods.check')}>
      {error && !data ? (
        <LoadError title={t('methods.checkFailed')} error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Loading rows={4} />
      ) : (
        <div className={styles.page}>
          {data.problem?.code === 'SANDBOX_OFF' ? (
            <Alert type="info" showIcon title={translateProblem(data.problem)} />
          ) : data.works ? (
            <Alert type="success" showIcon title={t('methods.works')} />
          ) : (
            <Alert
              type="error"
              showIcon
              title={t('methods.broken')}
              description={data.problem ? translateProblem(data.problem) : null}
            />
          )}
          {data.gas ? (
            <MethodGas id={id} gas={data.gas} isChecking={isFetching} onCheck={() => void refetch()} />
          ) : null}
        </div>
      )}
    </Section>
  );
}
