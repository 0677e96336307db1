import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { Invoice } from '@/api/types';
import { Failed, Notice } from '@/app/notice';
import { Pager } from '@/app/pager';
import { spokenError } from '@/i18n/spoken';
import { dayText } from '@/lib/format';
import styles from './invoice-list.module.css';
import { descriptionText, emptyText, invoiceAmount, isPayable, reasonText } from './invoice-text';
import { useNames } from './names';
import { PayInvoice } from './pay';
import { type InvoiceScope, invoicesQuery, PAGE_SIZE, PAGE_SIZES } from './queries';
import { InvoiceBadge } from './status';
import { useTexts } from './texts';

interface InvoiceTableProps {
  page?: number;
  pageSize?: number;
  scope?: InvoiceScope;
  /** They are a customer's, who alone can pay them. */
  forStore?: boolean;
}

/** Invoices in pages; page and length stand in the address. */
export function InvoiceTable({ page = 1, pageSize = PAGE_SIZE, scope, forStore = false }: InvoiceTableProps) {
  const texts = useTexts();
  const { t } = texts;
  const navigate = useNavigate();
  const { data, error, isPlaceholderData, refetch } = useQuery(invoicesQuery(page, pageSize, scope));
  if (error && !data)
    return <Failed title={t('portal.invoices.error')} text={spokenError(error)} onRetry={() => void refetch()} />;
  if (data?.count === 0) return <Notice title={emptyText(data.subscription, texts)} />;
  const withSubscription = !scope?.subscriptionId && (data?.list.some((invoice) => invoice.subscription_id) ?? false);
  const withAction = !forStore && (data?.list.some(isPayable) ?? false);

  const changeSize = (size: number) =>
    void navigate({
      to: '.',
      search: { pageSize: size === PAGE_SIZE ? undefined : size },
      resetScroll: false,
    } as never);

  return (
    <>
      <div className={styles.frame} aria-busy={!data || isPlaceholderData}>
        <table className={styles.table}>
          <caption className="unseen">{t('portal.invoices')}</caption>
          <thead>
            <tr>
              <th scope="col" className={styles.amount}>
                {t('invoice.amount')}
              </th>
              <th scope="col">{t('invoice.type')}</th>
              <th scope="col">{t('invoice.number')}</th>
              {withSubscription ? <th scope="col">{t('invoice.subscription')}</th> : null}
              <th scope="col">{t('invoice.date')}</th>
              <th scope="col">{t('invoice.description')}</th>
              <th scope="col">{t('invoice.status')}</th>
              {withAction ? (
                <th scope="col">
                  <span className="unseen">{t('invoice.action')}</span>
                </th>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {data
              ? data.list.map((invoice) => (
                  <Row key={invoice.id} invoice={invoice} withSubscription={withSubscription} withAction={withAction} />
                ))
              : Array.from({ length: 3 }, (_, place) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: places have no other name.
                  <tr key={place}>
                    <td colSpan={6}>
                      <span className={styles.ghost} />
                    </td>
                  </tr>
                ))}
          </tbody>
        </table>
      </div>
      {data && data.count > (PAGE_SIZES[0] ?? 5) ? (
        <div className={styles.foot}>
          <label>
            {t('portal.perPage')}{' '}
            <select value={pageSize} onChange={(event) => changeSize(Number(event.target.value))}>
              {PAGE_SIZES.map((size) => (
                <option key={size}>{size}</option>
              ))}
            </select>
          </label>
          <Pager page={page} pages={Math.ceil(data.count / pageSize)} />
        </div>
      ) : null}
    </>
  );
}

interface RowProps {
  invoice: Invoice;
  withSubscription: boolean;
  withAction: boolean;
}

/** The whole row opens the invoice; the number is its link for keyboard and screen reader. */
function Row({ invoice, withSubscription, withAction }: RowProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const named = useNames();
  const number = invoice.number || t('invoice.draft.number');
  return (
    <tr>
      <td className={`${styles.amount} money`}>
        {invoice.status === 'void' ? <s>{invoiceAmount(invoice, texts)}</s> : invoiceAmount(invoice, texts)}
      </td>
      <td>{reasonText(invoice.billing_reason, texts)}</td>
      <td>
        <Link
          to="/customer/invoice/$id"
          params={{ id: invoice.id }}
          className={styles.open}
          aria-label={t('invoice.open', { number })}
        >
          {number}
        </Link>
      </td>
      {withSubscription ? (
        <td>
          {invoice.subscription_id ? (
            <Link to="/customer/subscription/$id" params={{ id: invoice.subscription_id }} className={styles.above}>
              {named(invoice.subscription?.description || invoice.subscription_id)}
            </Link>
          ) : null}
        </td>
      ) : null}
      <td className={styles.date}>
        <time dateTime={invoice.created_at}>{dayText(invoice.created_at, language)}</time>
      </td>
      <td className={styles.description}>{named(descriptionText(invoice, texts))}</td>
      <td>
        <InvoiceBadge status={invoice.status} />
      </td>
      {withAction ? (
        <td className={styles.action}>{isPayable(invoice) ? <PayInvoice invoice={invoice} /> : null}</td>
      ) : null}
    </tr>
  );
}
