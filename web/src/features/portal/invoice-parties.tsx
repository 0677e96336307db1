import { Link } from '@tanstack/react-router';
import type { Address, InvoiceDetail } from '@/api/types';
import { useStore } from '@/app/queries';
import { transactionLink } from '@/lib/explorer';
import { countryName, dayText, momentText } from '@/lib/format';
import type { Locale } from '@/lib/locale';
import styles from './invoice-page.module.css';
import { methodText, spanText } from './invoice-text';
import { useNames } from './names';
import { useTexts } from './texts';

/** Who wrote it, for whom, when, and how it was paid. */
export function Parties({ invoice }: { invoice: InvoiceDetail }) {
  const { t, language } = useTexts();
  const store = useStore();
  const named = useNames();
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
      {invoice.subscription_id ? (
        <div>
          <dt>{t('invoice.subscription')}</dt>
          <dd>
            <Link to="/customer/subscription/$id" params={{ id: invoice.subscription_id }} className={styles.link}>
              {named(invoice.subscription?.description || invoice.subscription_id)}
            </Link>
          </dd>
        </div>
      ) : null}
      {invoice.period_start && invoice.period_end ? (
        <div>
          <dt>{t('invoice.period')}</dt>
          <dd>{spanText({ start: invoice.period_start, end: invoice.period_end }, language)}</dd>
        </div>
      ) : null}
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
