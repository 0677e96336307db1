import { ArrowLeftOutlined, FilePdfOutlined } from '@ant-design/icons';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { callAddress } from '@/api/client';
import { ApiError, errorText } from '@/api/error';
import type { Address, InvoiceDetail } from '@/api/types';
import { Failed, Notice } from '@/app/notice';
import { usePageTitle } from '@/app/page';
import { useStore } from '@/app/queries';
import { formatMoney, toUnits } from '@/lib/amount';
import { transactionLink } from '@/lib/explorer';
import { countryName, dayText, momentText } from '@/lib/format';
import type { Locale } from '@/lib/locale';
import styles from './invoice-page.module.css';
import { methodText, reasonText } from './invoice-text';
import { invoiceQuery } from './queries';
import { InvoiceBadge } from './status';
import { useTexts } from './texts';

export function InvoicePage({ id }: { id: string }) {
  const { t } = useTexts();
  const { data, error, refetch } = useQuery(invoiceQuery(id));
  const refused = error instanceof ApiError && (error.status === 404 || error.status === 403);
  usePageTitle(data ? t('invoice.title', { number: data.number ?? t('invoice.draft.number') }) : t('portal.invoices'));
  return (
    <div className={styles.page}>
      <Link to="/customer" hash="invoices" className={styles.back}>
        <ArrowLeftOutlined aria-hidden="true" /> {t('invoice.back')}
      </Link>
      {data ? (
        <Paper invoice={data} />
      ) : refused ? (
        <Notice asPage title={t('invoice.notFound')} text={t('invoice.notFoundText')} />
      ) : error ? (
        <Failed title={t('invoice.error')} text={errorText(error)} onRetry={() => void refetch()} />
      ) : (
        <div className={styles.waiting} aria-busy="true">
          <p className="unseen">{t('state.loading')}</p>
        </div>
      )}
    </div>
  );
}

function Paper({ invoice }: { invoice: InvoiceDetail }) {
  const texts = useTexts();
  const { t, language } = texts;
  const money = (amount: string | undefined) => formatMoney(amount ?? '0', invoice.paymentCurrency, language);
  const total = money(invoice.total);
  return (
    <article className={styles.paper}>
      <header className={styles.head}>
        <div>
          <h1>{t('invoice.title', { number: invoice.number ?? t('invoice.draft.number') })}</h1>
          <p className={styles.quiet}>{reasonText(invoice.billing_reason, texts)}</p>
        </div>
        <InvoiceBadge status={invoice.status} />
        <p className={`${styles.total} money`}>{invoice.status === 'void' ? <s>{total}</s> : total}</p>
        {invoice.livemode ? null : <p className={styles.test}>{t('invoice.testMode')}</p>}
      </header>
      <Parties invoice={invoice} />
      <Lines invoice={invoice} money={money} />
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
      </footer>
    </article>
  );
}

/** Who wrote it, for whom, when, and how it was paid. */
function Parties({ invoice }: { invoice: InvoiceDetail }) {
  const { t, language } = useTexts();
  const store = useStore();
  const { customer } = invoice;
  const name = invoice.customer_name || customer?.name || customer?.fullName;
  const address = addressLines(invoice.customer_address ?? customer?.address, language);
  const paidAt = moment(invoice.paid_at ?? invoice.status_transitions?.paid_at);
  const link = transactionLink(invoice.paymentMethod, invoice.metadata?.payment_details);
  return (
    <dl className={styles.parties}>
      <div>
        <dt>{t('invoice.from')}</dt>
        <dd>{store?.name ?? 'Souk'}</dd>
      </div>
      <div>
        <dt>{t('invoice.to')}</dt>
        <dd>
          {[name, invoice.customer_email || customer?.email, ...address].filter(Boolean).map((line) => (
            <span key={line} className={styles.line}>
              {line}
            </span>
          ))}
        </dd>
      </div>
      <div>
        <dt>{t('invoice.issued')}</dt>
        <dd>
          <time dateTime={invoice.created_at}>{dayText(invoice.created_at, language)}</time>
        </dd>
      </div>
      {paidAt ? (
        <div>
          <dt>{t('invoice.paidAt')}</dt>
          <dd>
            <time dateTime={paidAt.toISOString()}>{momentText(paidAt, language)}</time>
          </dd>
        </div>
      ) : null}
      {invoice.paymentMethod ? (
        <div>
          <dt>{t('invoice.method')}</dt>
          <dd>{methodText(invoice.paymentMethod, { t })}</dd>
        </div>
      ) : null}
      {link ? (
        <div className={styles.wide}>
          <dt>{t('invoice.transaction')}</dt>
          <dd>
            <a href={link.url} target="_blank" rel="noopener noreferrer" className={styles.hash}>
              {link.label}
              <span className="unseen"> {t('a11y.newTab')}</span>
            </a>
          </dd>
        </div>
      ) : null}
    </dl>
  );
}

function Lines({ invoice, money }: { invoice: InvoiceDetail; money: (amount: string | undefined) => string }) {
  const { t } = useTexts();
  const { subtotal, tax } = invoice;
  const sums: [string, string][] = [];
  if (subtotal && subtotal !== invoice.total) sums.push([t('invoice.subtotal'), money(subtotal)]);
  if (toUnits(tax) > 0n) sums.push([t('invoice.tax'), money(tax)]);
  sums.push([t('invoice.total'), money(invoice.total)]);
  if (invoice.status === 'paid') sums.push([t('invoice.amountPaid'), money(invoice.amount_paid ?? invoice.total)]);
  if (invoice.status === 'open' || invoice.status === 'uncollectible') {
    sums.push([t('invoice.amountDue'), money(invoice.amount_remaining ?? invoice.amount_due ?? invoice.total)]);
  }
  return (
    <table className={styles.lines}>
      <caption className="unseen">{t('invoice.lines')}</caption>
      <thead>
        <tr>
          <th scope="col">{t('invoice.line.item')}</th>
          <th scope="col">{t('invoice.line.quantity')}</th>
          <th scope="col">{t('invoice.line.amount')}</th>
        </tr>
      </thead>
      <tbody>
        {invoice.lines.map((line, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of a written invoice never move.
          <tr key={place}>
            <td>{line.description || line.price?.product?.name}</td>
            <td className="figures">{line.quantity}</td>
            <td className="money">{money(line.amount)}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        {sums.map(([name, sum]) => (
          <tr key={name}>
            <th scope="row" colSpan={2}>
              {name}
            </th>
            <td className="money">{sum}</td>
          </tr>
        ))}
      </tfoot>
    </table>
  );
}

/** The wire has unix seconds in older answers of the kit and ISO text in newer ones. */
function moment(value: string | number | null | undefined): Date | null {
  if (!value) return null;
  const date = new Date(typeof value === 'number' ? value * 1000 : value);
  return Number.isNaN(date.getTime()) ? null : date;
}

function addressLines(address: Address | null | undefined, language: Locale): string[] {
  if (!address) return [];
  const { line1, line2, city, state, postal_code: postal, country } = address;
  const place = [postal, city, state].filter(Boolean).join(' ');
  // A country alone is the form's preset, not an address.
  if (!line1 && !line2 && !place) return [];
  return [line1, line2, place, country ? countryName(country, language) : ''].filter((line): line is string =>
    Boolean(line),
  );
}
