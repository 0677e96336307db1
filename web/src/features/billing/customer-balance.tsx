import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, Card, Flex, Table, Typography } from 'antd';
import type { ReactNode } from 'react';
import type { BalanceTransaction, CustomerBalance as CurrencyBalance } from '@/api/types';
import { formatMoney } from '@/lib/amount';
import { dateTimeText } from '@/lib/format';
import { type InvoiceListProps, invoicePath } from './invoice-table';
import { methodText } from './invoice-text';
import { type BalanceOwner, balanceTransactionsQuery, customerBalanceQuery } from './queries';
import { EmptyState, LoadError, Loading } from './states';
import { useTexts } from './texts';

interface BalanceProps extends Pick<InvoiceListProps, 'area'> {
  owner: BalanceOwner;
  /** The action for the balance in one currency. */
  action?: (balance: CurrencyBalance) => ReactNode;
}

/** The balances of a customer with the store, by currency, and their transactions. */
export function CustomerBalance({ owner, area, action }: BalanceProps) {
  const { t, language } = useTexts();
  const { data, error, refetch } = useQuery(customerBalanceQuery(owner));
  if (error && !data)
    return <LoadError title={t('customerBalance.error')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading rows={2} />;
  return (
    <Flex vertical gap={16}>
      <Typography.Text type="secondary">
        {t(area === 'console' ? 'customerBalance.textAdmin' : 'customerBalance.text')}
      </Typography.Text>
      {data.list.length === 0 ? <EmptyState text={t('customerBalance.none')} /> : null}
      {data.list.map((balance) => (
        <Card key={balance.currency_id} size="small">
          <Flex justify="space-between" align="center" gap={12} wrap>
            <div>
              <Typography.Text strong className="money" style={{ display: 'block', fontSize: 'var(--size-l)' }}>
                {formatMoney(balance.amount, balance.currency, language)}
              </Typography.Text>
              {balance.method ? (
                <Typography.Text type="secondary">{methodText(balance.method, { t })}</Typography.Text>
              ) : null}
            </div>
            {action?.(balance)}
          </Flex>
        </Card>
      ))}
      <BalanceTransactions owner={owner} area={area} />
    </Flex>
  );
}

/** The balance transactions, newest first. Renders nothing if there are none. */
function BalanceTransactions({ owner, area }: Pick<BalanceProps, 'owner' | 'area'>) {
  const { t, language } = useTexts();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = useInfiniteQuery(
    balanceTransactionsQuery(owner),
  );
  if (error && !data)
    return <LoadError title={t('customerBalance.historyError')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading rows={4} />;
  const list = data.pages.flatMap((page) => page.list);
  if (list.length === 0) return null;
  return (
    <Flex vertical gap={12}>
      <Table<BalanceTransaction>
        aria-label={t('customerBalance.history')}
        rowKey="id"
        size="small"
        pagination={false}
        dataSource={list}
        columns={[
          {
            key: 'change',
            title: t('customerBalance.change'),
            render: (_, { type, source, created_at: at }) => (
              <Flex vertical>
                {source.startsWith('in_') ? (
                  <Link to={invoicePath(area)} params={{ id: source }}>
                    {t(`customerBalance.type.${type}`)}
                  </Link>
                ) : (
                  t(`customerBalance.type.${type}`)
                )}
                <Typography.Text type="secondary">
                  <time dateTime={at}>{dateTimeText(at, language)}</time>
                </Typography.Text>
              </Flex>
            ),
          },
          {
            key: 'amount',
            title: t('invoice.amount'),
            align: 'end',
            className: 'money',
            render: (_, { direction, amount, paymentCurrency }) =>
              `${direction === 'decrease' ? '−' : '+'}${formatMoney(amount, paymentCurrency, language)}`,
          },
          {
            key: 'balance',
            title: t('customerBalance.after'),
            align: 'end',
            className: 'money',
            render: (_, { balance_after: after, paymentCurrency }) => formatMoney(after, paymentCurrency, language),
          },
        ]}
      />
      {hasNextPage ? (
        <Button block loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t('portal.more')}
        </Button>
      ) : null}
    </Flex>
  );
}
