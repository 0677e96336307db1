import { ArrowLeftOutlined, FilePdfOutlined } from '@ant-design/icons';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { useEffect, useRef } from 'react';
import { callAddress } from '@/api/client';
import { ApiError } from '@/api/error';
import type { InvoiceDetail } from '@/api/types';
import { Failed, Notice } from '@/app/notice';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { spokenError } from '@/i18n/spoken';
import { Alert } from '@/kit/alert';
import { formatMoney } from '@/lib/amount';
import { momentText } from '@/lib/format';
import { ExpiredLink } from './expired-link';
import { Lines } from './invoice-lines';
import styles from './invoice-page.module.css';
import { Parties } from './invoice-parties';
import { isPayable, reasonText } from './invoice-text';
import { actsForStore } from './office-rules';
import { PaidNews } from './paid-news';
import { type CollectAction, isPaidByWallet, PayInvoice } from './pay';
import { invoiceQuery } from './queries';
import { GiveBack, Refunds } from './refunds';
import { InvoiceBadge } from './status';
import { useTexts } from './texts';

interface InvoicePageProps {
  id: string;
  /** Whoever came to pay finds the focus there. */
  action?: CollectAction;
}

export function InvoicePage({ id, action }: InvoicePageProps) {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(invoiceQuery(id));
  const refused = error instanceof ApiError && (error.status === 404 || error.status === 403);
  usePageTitle(data ? t('invoice.title', { number: data.number || t('invoice.draft.number') }) : t('portal.invoices'));
  return (
    <div className={styles.page}>
      <Link to="/customer" hash="invoices" className={styles.back}>
        <ArrowLeftOutlined aria-hidden="true" /> {t('invoice.back')}
      </Link>
      {data ? (
        <Paper invoice={data} action={action} />
      ) : refused ? (
        <Notice asPage title={t('invoice.notFound')} text={t('invoice.notFoundText')} />
      ) : error instanceof ApiError && error.status === 401 ? (
        <ExpiredLink />
      ) : error ? (
        <Failed title={t('invoice.error')} text={spokenError(error)} onRetry={() => void refetch()} />
      ) : (
        <div className={styles.waiting} aria-busy="true">
          <p className="unseen">{t('state.loading')}</p>
        </div>
      )}
    </div>
  );
}

function Paper({ invoice, action }: { invoice: InvoiceDetail; action?: CollectAction }) {
  const texts = useTexts();
  const { t, language } = texts;
  const money = (amount: string | undefined) => formatMoney(amount ?? '0', invoice.paymentCurrency, language);
  const total = money(invoice.total);
  const forStore = actsForStore(useUser(), invoice.customer?.did);
  return (
    <article className={styles.paper}>
      <PaidNews customerId={invoice.customer_id} />
      <header className={styles.head}>
        <div>
          <h1>{t('invoice.title', { number: invoice.number || t('invoice.draft.number') })}</h1>
          <p className={styles.quiet}>{reasonText(invoice.billing_reason, texts)}</p>
        </div>
        <InvoiceBadge status={invoice.status} />
        <p className={`${styles.total} money`}>{invoice.status === 'void' ? <s>{total}</s> : total}</p>
        {invoice.livemode ? null : <p className={styles.test}>{t('invoice.testMode')}</p>}
      </header>
      {isPayable(invoice) ? <Due invoice={invoice} action={action} forStore={forStore} /> : null}
      <Parties invoice={invoice} />
      <Lines invoice={invoice} money={money} />
      <Refunds invoice={invoice} money={money} />
      <footer className={styles.foot}>
        {(['en', 'zh'] as const).map((locale) => (
          <Button
            key={locale}
            icon={<FilePdfOutlined aria-hidden="true" />}
            href={callAddress(`/api/invoices/${encodeURIComponent(invoice.id)}/pdf`, { locale })}
            download
          >
            {t(`invoice.pdf.${locale}`)}
          </Button>
        ))}
        <GiveBack invoice={invoice} />
      </footer>
    </article>
  );
}

/** What stands unpaid, with the way to pay it; whoever came with the action finds the focus on it. */
function Due({ invoice, action, forStore }: { invoice: InvoiceDetail; action?: CollectAction; forStore: boolean }) {
  const { t, language } = useTexts();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (action) place.current?.querySelector<HTMLElement>('button, a')?.focus();
  }, [action]);
  const byWallet = isPaidByWallet(invoice.paymentMethod);
  return (
    <div ref={place}>
      <Alert tone="danger" title={t('invoice.payTitle')}>
        <p>{t(forStore ? 'invoice.payByOwner' : byWallet ? 'invoice.payText' : 'invoice.payByCard')}</p>
        {invoice.next_payment_attempt ? (
          <p>{t('invoice.nextAttempt', { date: momentText(invoice.next_payment_attempt * 1000, language) })}</p>
        ) : null}
        {forStore ? null : (
          <p className={styles.pay}>
            <PayInvoice invoice={invoice} action={action} prominent />
          </p>
        )}
      </Alert>
    </div>
  );
}
