import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, Card, Flex, Typography } from 'antd';
import type { Invoice } from '@/api/types';
import { dateText } from '@/lib/format';
import { InvoiceAmount } from './invoice-amount';
import styles from './invoice-list.module.css';
import { type InvoiceListProps, invoicePath } from './invoice-table';
import { byDay, descriptionText, emptyText, reasonText } from './invoice-text';
import { invoiceFeedQuery } from './queries';
import { EmptyState, LoadError, Loading } from './states';
import { InvoiceTags } from './status';
import { type Texts, useTexts } from './texts';

/** Invoices on a phone: grouped by day, more of them on demand. */
export function InvoiceList({ scope, area, action }: InvoiceListProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = useInfiniteQuery(
    invoiceFeedQuery(scope),
  );
  if (error && !data)
    return <LoadError title={t('portal.invoices.error')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading rows={10} />;
  const list = data.pages.flatMap((page) => page.list);
  if (list.length === 0) return <EmptyState text={emptyText(data.pages[0]?.subscription, texts)} />;
  const count = data.pages.at(-1)?.count ?? list.length;

  return (
    <Flex vertical gap={16}>
      {byDay(list, (iso) => dateText(iso, language)).map(([day, invoices]) => (
        <section key={day}>
          <Typography.Title level={3} className={styles.day}>
            {day}
          </Typography.Title>
          <Flex vertical gap={8} component="ul" className={styles.list}>
            {invoices.map((invoice) => (
              <li key={invoice.id}>
                <Card size="small" classNames={{ body: styles.body }}>
                  <Flex justify="space-between" gap={12}>
                    <Link to={invoicePath(area)} params={{ id: invoice.id }} className={styles.open}>
                      {descriptionText(invoice, texts) || invoice.id}
                    </Link>
                    <strong className="money">
                      <InvoiceAmount invoice={invoice} />
                    </strong>
                  </Flex>
                  <Flex justify="space-between" align="center" gap={12} wrap>
                    <Typography.Text type="secondary">{subtitleOf(invoice, texts)}</Typography.Text>
                    <InvoiceTags invoice={invoice} />
                  </Flex>
                  {action?.(invoice)}
                </Card>
              </li>
            ))}
          </Flex>
        </section>
      ))}
      <Typography.Text type="secondary" role="status">
        {t('portal.of', { shown: list.length, count })}
      </Typography.Text>
      {hasNextPage ? (
        <Button block loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t('portal.more')}
        </Button>
      ) : null}
    </Flex>
  );
}

/** The type and the number; the title of a deposit or a top-up already is its type. */
function subtitleOf(invoice: Invoice, texts: Texts): string {
  const type = reasonText(invoice.billing_reason, texts);
  const number = invoice.number || texts.t('invoice.draft.number');
  return descriptionText(invoice, texts) === type ? number : `${type} · ${number}`;
}
