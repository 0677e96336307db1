import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Table, type TableColumnsType } from 'antd';
import type { ReactNode } from 'react';
import type { Invoice } from '@/api/types';
import { dateText } from '@/lib/format';
import { InvoiceAmount } from './invoice-amount';
import { descriptionText, emptyText, reasonText } from './invoice-text';
import { subscriptionName } from './price-text';
import { type InvoiceScope, invoicesQuery, PAGE_SIZE, PAGE_SIZES } from './queries';
import { TABLE_MIN_WIDTH } from './record-table';
import { EmptyState, LoadError } from './states';
import { InvoiceTags } from './status';
import { useTexts } from './texts';

export interface InvoiceListProps {
  scope?: InvoiceScope;
  /** Where an invoice and a subscription open: on the pages of the customer or of the console. */
  area: 'customer' | 'console';
  /** The action for an invoice in the list; most invoices have none. */
  action?: (invoice: Invoice) => ReactNode;
}

interface InvoiceTableProps extends InvoiceListProps {
  page?: number;
  pageSize?: number;
}

const PATHS = {
  customer: { invoice: '/customer/invoice/$id', subscription: '/customer/subscription/$id' },
  console: { invoice: '/console/invoices/$id', subscription: '/console/subscriptions/$id' },
} as const;

export const invoicePath = (area: InvoiceListProps['area']) => PATHS[area].invoice;
export const subscriptionPath = (area: InvoiceListProps['area']) => PATHS[area].subscription;

/** A paginated table of invoices. The page and its size are in the URL. */
export function InvoiceTable({ page = 1, pageSize = PAGE_SIZE, scope, area, action }: InvoiceTableProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const navigate = useNavigate();
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery(invoicesQuery(page, pageSize, scope));
  if (error && !data)
    return <LoadError title={t('portal.invoices.error')} error={error} onRetry={() => void refetch()} />;
  if (data?.count === 0) return <EmptyState text={emptyText(data.subscription, texts)} />;
  const list = data?.list ?? [];
  const withSubscription = !scope?.subscriptionId && list.some((invoice) => invoice.subscription_id);
  const withAction = Boolean(action) && list.some((invoice) => action?.(invoice));
  const numberOf = (invoice: Invoice) => invoice.number || t('invoice.draft.number');

  const columns: TableColumnsType<Invoice> = [
    {
      key: 'amount',
      title: t('invoice.amount'),
      align: 'end',
      className: 'money',
      render: (_, invoice) => <InvoiceAmount invoice={invoice} />,
    },
    { key: 'type', title: t('invoice.type'), render: (_, invoice) => reasonText(invoice.billing_reason, texts) },
    {
      key: 'number',
      title: t('invoice.number'),
      render: (_, invoice) => (
        <Link
          to={invoicePath(area)}
          params={{ id: invoice.id }}
          aria-label={t('invoice.open', { number: numberOf(invoice) })}
        >
          {numberOf(invoice)}
        </Link>
      ),
    },
    {
      key: 'subscription',
      title: t('invoice.subscription'),
      hidden: !withSubscription,
      render: (_, { subscription, subscription_id: id }) =>
        id ? (
          <Link to={subscriptionPath(area)} params={{ id }}>
            {subscriptionName({ id, ...subscription }, texts)}
          </Link>
        ) : null,
    },
    {
      key: 'date',
      title: t('invoice.date'),
      render: (_, { created_at: at }) => <time dateTime={at}>{dateText(at, language)}</time>,
    },
    {
      key: 'description',
      title: t('invoice.description'),
      render: (_, invoice) => {
        const text = descriptionText(invoice, texts) || invoice.id;
        // The type of a deposit or a top-up already says it.
        return text === reasonText(invoice.billing_reason, texts) ? null : text;
      },
    },
    { key: 'status', title: t('invoice.status'), render: (_, invoice) => <InvoiceTags invoice={invoice} /> },
    {
      key: 'action',
      title: <span className="sr-only">{t('invoice.action')}</span>,
      hidden: !withAction,
      align: 'end',
      fixed: 'end',
      render: (_, invoice) => action?.(invoice),
    },
  ];
  const onPageChange = (nextPage: number, size: number) => {
    const sizeChanged = size !== pageSize;
    const search = {
      page: sizeChanged || nextPage === 1 ? undefined : nextPage,
      pageSize: size === PAGE_SIZE ? undefined : size,
    };
    void navigate({ to: '.', search: (previous: object) => ({ ...previous, ...search }), resetScroll: false } as never);
  };

  return (
    <div aria-busy={!data || isPlaceholderData || undefined}>
      <Table<Invoice>
        aria-label={t('portal.invoices')}
        rowKey="id"
        columns={columns}
        dataSource={list}
        loading={isFetching && (!data || isPlaceholderData)}
        scroll={{ x: TABLE_MIN_WIDTH }}
        tableLayout="auto"
        onRow={({ id }) => ({
          // The link of the number does the same for keyboards and screen readers.
          onClick: ({ target }) => {
            if ((target as Element).closest('a, button, .ant-modal, dialog')) return;
            void navigate({ to: invoicePath(area), params: { id } });
          },
          style: { cursor: 'pointer' },
        })}
        pagination={
          data && data.count > (PAGE_SIZES[0] ?? 5)
            ? {
                current: page,
                pageSize,
                total: data.count,
                pageSizeOptions: PAGE_SIZES,
                showSizeChanger: { 'aria-label': t('portal.perPage') },
                onChange: onPageChange,
              }
            : false
        }
      />
    </div>
  );
}
