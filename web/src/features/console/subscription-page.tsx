import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { ApiError } from '@/api/error';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { BackLink } from '@/features/billing/back-link';
import { CardNotice } from '@/features/billing/card-notice';
import styles from '@/features/billing/pages.module.css';
import { subscriptionName } from '@/features/billing/price-text';
import { subscriptionQuery } from '@/features/billing/queries';
import { LoadError, Loading, PageResult } from '@/features/billing/states';
import { SubscriptionOverview } from '@/features/billing/subscription-overview';
import { useTexts } from '@/features/billing/texts';
import { isAdmin } from '@/lib/roles';
import { AdminActions } from './admin-actions';
import { Banners } from './banners';

interface SubscriptionPageProps {
  id: string;
  page?: number;
  pageSize?: number;
}

/** The subscription of a customer, for administrators. */
export function AdminSubscriptionPage({ id, ...rest }: SubscriptionPageProps) {
  const texts = useTexts();
  const { t } = texts;
  const user = useUser();
  const { data, error, refetch } = useQuery(subscriptionQuery(id));
  const notFound = error instanceof ApiError && (error.status === 404 || error.status === 403);
  usePageTitle(data ? subscriptionName(data, texts) : t('subscription.title'));
  if (user && !isAdmin(user)) return <Navigate to="/customer/subscription/$id" params={{ id }} replace />;
  return (
    <div className={styles.page}>
      <Banners />
      {data ? (
        <BackLink to="/console/customers/$id" params={{ id: data.customer_id }}>
          {data.customer.name || data.customer.email || t('invoice.customerPage')}
        </BackLink>
      ) : (
        <span className={styles.back} />
      )}
      {data ? (
        <SubscriptionOverview subscription={data} area="console" {...rest}>
          <CardNotice subscription={data} reader="store" />
          <AdminActions subscription={data} />
        </SubscriptionOverview>
      ) : notFound ? (
        <PageResult status="warning" title={t('subscription.notFound')} text={t('subscription.notFoundAdmin')} />
      ) : error ? (
        <LoadError title={t('subscription.error')} error={error} onRetry={() => void refetch()} />
      ) : (
        <Loading title rows={14} />
      )}
    </div>
  );
}
