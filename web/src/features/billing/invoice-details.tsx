import { Link } from '@tanstack/react-router';
import { Descriptions, type DescriptionsProps } from 'antd';
import type { InvoiceDetail } from '@/api/types';
import { useStore } from '@/app/queries';
import { transactionLink } from '@/lib/explorer';
import { dateText, dateTimeText } from '@/lib/format';
import { addressLines } from './address-lines';
import { type InvoiceListProps, subscriptionPath } from './invoice-table';
import { paidByText, spanText } from './invoice-text';
import styles from './pages.module.css';
import { subscriptionName } from './price-text';
import { useTexts } from './texts';

/** Who issued an invoice, for whom, when, and how it was paid. */
export function InvoiceDetails({ invoice, area }: { invoice: InvoiceDetail; area: InvoiceListProps['area'] }) {
  const texts = useTexts();
  const { t, language } = texts;
  const store = useStore();
  const { customer, subscription_id: subscription } = invoice;
  const name = invoice.customer_name || customer?.name || customer?.fullName;
  const address = addressLines(invoice.customer_address ?? customer?.address, language);
  const paidAt = moment(invoice.paid_at ?? invoice.status_transitions?.paid_at);
  const link = transactionLink(invoice.paymentMethod, invoice.metadata?.payment_details);
  const items: DescriptionsProps['items'] = [
    { key: 'from', label: t('invoice.from'), children: store?.name ?? 'Souk' },
    {
      key: 'to',
      label: t('invoice.to'),
      children: (
        <span>
          {[name, invoice.customer_email || customer?.email, ...address].filter(Boolean).map((line) => (
            <span key={line} style={{ display: 'block' }}>
              {line}
            </span>
          ))}
        </span>
      ),
    },
    {
      key: 'issued',
      label: t('invoice.issued'),
      children: <time dateTime={invoice.created_at}>{dateText(invoice.created_at, language)}</time>,
    },
  ];
  if (subscription)
    items.push({
      key: 'subscription',
      label: t('invoice.subscription'),
      children: (
        <Link to={subscriptionPath(area)} params={{ id: subscription }}>
          {subscriptionName({ id: subscription, ...invoice.subscription }, texts)}
        </Link>
      ),
    });
  if (invoice.period_start && invoice.period_end)
    items.push({
      key: 'period',
      label: t('invoice.period'),
      children: spanText({ start: invoice.period_start, end: invoice.period_end }, language),
    });
  if (paidAt)
    items.push({
      key: 'paid',
      label: t('invoice.paidAt'),
      children: <time dateTime={paidAt.toISOString()}>{dateTimeText(paidAt, language)}</time>,
    });
  const method = paidByText(invoice, { t });
  if (method) items.push({ key: 'method', label: t('invoice.method'), children: method });
  if (link)
    items.push({
      key: 'transaction',
      label: t('invoice.transaction'),
      children: (
        <a href={link.url} title={link.label} target="_blank" rel="noopener noreferrer">
          {shortened(link.label)}
          <span className="sr-only"> {t('a11y.newTab')}</span>
        </a>
      ),
    });
  return (
    <Descriptions
      className={styles.details}
      layout="vertical"
      colon={false}
      column={{ xs: 1, sm: 2, lg: 3 }}
      items={items}
    />
  );
}

/** The characters of a hash that are shown at each end. */
const HASH_END = 8;

/** A long hash by its ends. */
const shortened = (hash: string) =>
  hash.length > 3 * HASH_END ? `${hash.slice(0, HASH_END)}…${hash.slice(-HASH_END)}` : hash;

/** Older responses have Unix seconds, newer ones ISO dates. */
function moment(value: string | number | null | undefined): Date | null {
  if (!value) return null;
  const date = new Date(typeof value === 'number' ? value * 1000 : value);
  return Number.isNaN(date.getTime()) ? null : date;
}
