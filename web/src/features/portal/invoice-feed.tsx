import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { Failed, Notice } from '@/app/notice';
import { spokenError } from '@/i18n/spoken';
import { dayText } from '@/lib/format';
import styles from './invoice-list.module.css';
import { byDay, descriptionText, emptyText, invoiceAmount, isPayable, reasonText } from './invoice-text';
import { useNames } from './names';
import { PayInvoice } from './pay';
import { type InvoiceScope, invoiceFeedQuery } from './queries';
import { InvoiceBadge } from './status';
import { useTexts } from './texts';

interface InvoiceFeedProps {
  scope?: InvoiceScope;
  /** They are a customer's, who alone can pay them. */
  forStore?: boolean;
}

/** The same invoices on a phone: by day, more on demand. */
export function InvoiceFeed({ scope, forStore = false }: InvoiceFeedProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const named = useNames();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = useInfiniteQuery(
    invoiceFeedQuery(scope),
  );
  if (error && !data)
    return <Failed title={t('portal.invoices.error')} text={spokenError(error)} onRetry={() => void refetch()} />;
  if (!data) return <div className={styles.waiting} aria-busy="true" />;
  const list = data.pages.flatMap((page) => page.list);
  if (list.length === 0) return <Notice title={emptyText(data.pages[0]?.subscription, texts)} />;
  const count = data.pages.at(-1)?.count ?? list.length;

  return (
    <>
      {byDay(list, (iso) => dayText(iso, language)).map(([day, invoices]) => (
        <section key={day} className={styles.day}>
          <h3>{day}</h3>
          <ul>
            {invoices.map((invoice) => (
              <li key={invoice.id}>
                <span className={styles.line}>
                  <Link to="/customer/invoice/$id" params={{ id: invoice.id }} className={styles.open}>
                    {named(descriptionText(invoice, texts))}
                  </Link>
                  <span className="money">
                    {invoice.status === 'void' ? <s>{invoiceAmount(invoice, texts)}</s> : invoiceAmount(invoice, texts)}
                  </span>
                </span>
                <span className={styles.line}>
                  <span className={styles.quiet}>
                    {reasonText(invoice.billing_reason, texts)} · {invoice.number || t('invoice.draft.number')}
                  </span>
                  <InvoiceBadge status={invoice.status} />
                </span>
                {!forStore && isPayable(invoice) ? (
                  <span className={styles.action}>
                    <PayInvoice invoice={invoice} />
                  </span>
                ) : null}
              </li>
            ))}
          </ul>
        </section>
      ))}
      <p className={styles.quiet} role="status">
        {t('portal.of', { shown: list.length, count })}
      </p>
      {hasNextPage ? (
        <Button block loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t('portal.more')}
        </Button>
      ) : null}
    </>
  );
}
