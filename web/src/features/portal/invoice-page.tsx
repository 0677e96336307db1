import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { ApiError } from '@/api/error';
import type { InvoiceDetail } from '@/api/types';
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
import { actsForStore, isAdmin } from '@/lib/roles';
import { ExpiredLink } from './expired-link';
import { type CollectAction, isPaidByWallet, PayInvoice } from './pay';

interface InvoicePageProps {
  id: string;
  /** The customer came to pay: the button has the focus. */
  action?: CollectAction;
}

export function InvoicePage({ id, action }: InvoicePageProps) {
  const { t } = useTexts();
  const user = useUser();
  const { data, error, refetch } = useQuery(invoiceQuery(id));
  const notFound = error instanceof ApiError && (error.status === 404 || error.status === 403);
  usePageTitle(data ? t('invoice.title', { number: data.number || t('invoice.draft.number') }) : t('portal.invoices'));
  if (data && actsForStore(user, data.customer?.did))
    return <Navigate to="/console/invoices/$id" params={{ id }} replace />;
  return (
    <div className={`${styles.page} ${styles.invoice}`}>
      <BackLink to="/customer" hash="invoices">
        {t('invoice.back')}
      </BackLink>
      {data ? (
        <InvoiceDocument
          invoice={data}
          area="customer"
          actions={
            isAdmin(user) ? (
              <LinkButton to="/console/invoices/$id" params={{ id }}>
                {t('subscription.admin')}
              </LinkButton>
            ) : null
          }
          notice={isPayable(data) ? <Unpaid invoice={data} action={action} /> : null}
        />
      ) : notFound ? (
        <PageResult status="warning" title={t('invoice.notFound')} text={t('invoice.notFoundText')} />
      ) : error instanceof ApiError && error.status === 401 ? (
        <ExpiredLink />
      ) : error ? (
        <LoadError title={t('invoice.error')} error={error} onRetry={() => void refetch()} />
      ) : (
        <Loading title rows={12} />
      )}
    </div>
  );
}

/** When an unpaid invoice is charged again, and the button that pays it now. */
function Unpaid({ invoice, action }: { invoice: InvoiceDetail; action?: CollectAction }) {
  const { t, language } = useTexts();
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (action) ref.current?.querySelector<HTMLElement>('button, a')?.focus();
  }, [action]);
  return (
    <div ref={ref}>
      <Note
        type="error"
        title={t('invoice.payTitle')}
        description={
          <>
            <p>{t(isPaidByWallet(invoice.paymentMethod) ? 'invoice.payText' : 'invoice.payByCard')}</p>
            {invoice.next_payment_attempt ? (
              <p>{t('invoice.nextAttempt', { date: dateTimeText(invoice.next_payment_attempt * 1000, language) })}</p>
            ) : null}
            <div style={{ marginTop: 12 }}>
              <PayInvoice invoice={invoice} action={action} prominent />
            </div>
          </>
        }
      />
    </div>
  );
}
