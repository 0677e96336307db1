import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { ApiError } from '@/api/error';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { BackLink } from '@/features/billing/back-link';
import { Note } from '@/features/billing/dialog';
import { InvoiceDocument } from '@/features/billing/invoice-document';
import { isPayable } from '@/features/billing/invoice-text';
import { LinkButton } from '@/features/billing/link-button';
import styles from '@/features/billing/pages.module.css';
import { invoiceQuery } from '@/features/billing/queries';
import { LoadError, Loading, PageResult } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { dateTimeText } from '@/lib/format';
import { isAdmin } from '@/lib/roles';
import { Banners } from './banners';
import { CreditNoteButton } from './credit-note-button';
import { InvoiceDisputes } from './disputes';
import { FailedRefund } from './failed-refund';
import { RefundButton } from './refund-button';

/** The invoice of a customer, for administrators. */
export function AdminInvoicePage({ id }: { id: string }) {
  const { t, language } = useTexts();
  const user = useUser();
  const { data, error, refetch } = useQuery(invoiceQuery(id));
  const notFound = error instanceof ApiError && (error.status === 404 || error.status === 403);
  usePageTitle(data ? t('invoice.title', { number: data.number || t('invoice.draft.number') }) : t('portal.invoices'));
  if (user && !isAdmin(user)) return <Navigate to="/customer/invoice/$id" params={{ id }} replace />;
  const subscription = data?.subscription_id;
  return (
    <div className={`${styles.page} ${styles.invoice}`}>
      <Banners />
      {subscription ? (
        <BackLink to="/console/subscriptions/$id" params={{ id: subscription }}>
          {t('subscription.title')}
        </BackLink>
      ) : data ? (
        <BackLink to="/console/customers/$id" params={{ id: data.customer_id }}>
          {data.customer?.name || data.customer?.email || t('invoice.customerPage')}
        </BackLink>
      ) : (
        <span className={styles.back} />
      )}
      {data ? (
        <InvoiceDocument
          invoice={data}
          area="console"
          notice={
            isPayable(data) ? (
              <Note
                type="error"
                title={t('invoice.payTitle')}
                description={
                  <>
                    <p>{t('invoice.payByOwner')}</p>
                    {data.next_payment_attempt ? (
                      <p>
                        {t('invoice.nextAttempt', { date: dateTimeText(data.next_payment_attempt * 1000, language) })}
                      </p>
                    ) : null}
                  </>
                }
              />
            ) : null
          }
          refundAction={(refund) => <FailedRefund refund={refund} invoice={data} />}
          more={<InvoiceDisputes invoice={data} />}
          actions={
            <>
              <RefundButton invoice={data} />
              <CreditNoteButton invoice={data} />
              <LinkButton to="/console/customers/$id" params={{ id: data.customer_id }}>
                {t('invoice.openCustomer')}
              </LinkButton>
            </>
          }
        />
      ) : notFound ? (
        <PageResult status="warning" title={t('invoice.notFound')} text={t('invoice.notFoundAdmin')} />
      ) : error ? (
        <LoadError title={t('invoice.error')} error={error} onRetry={() => void refetch()} />
      ) : (
        <Loading title rows={12} />
      )}
    </div>
  );
}
