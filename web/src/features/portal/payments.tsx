import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, Flex, Table, Typography } from 'antd';
import type { PaymentIntent } from '@/api/types';
import { descriptionText, methodText } from '@/features/billing/invoice-text';
import { needsAction } from '@/features/billing/payment-state';
import { paymentsQuery } from '@/features/billing/queries';
import { EmptyState, LoadError, Loading } from '@/features/billing/states';
import { PaymentTag } from '@/features/billing/status';
import { useTexts } from '@/features/billing/texts';
import { declineText } from '@/i18n/error-messages';
import { formatMoney } from '@/lib/amount';
import { transactionLink } from '@/lib/explorer';
import { dateTimeText } from '@/lib/format';
import { usePhone } from '@/lib/use-phone';
import styles from './lists.module.css';

/** The customer's payments: those that need action first, then the history with failed attempts, the newest first. */
export function Payments() {
  const { t } = useTexts();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = useInfiniteQuery(paymentsQuery);
  if (error && !data)
    return <LoadError title={t('portal.payments.error')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading rows={6} />;
  const list = data.pages.flatMap((page) => page.list);
  if (list.length === 0) return <EmptyState text={t('portal.payments.empty')} />;
  const urgent = list.filter(needsAction);
  const history = list.filter((payment) => !needsAction(payment));
  return (
    <Flex vertical gap={16}>
      {urgent.length > 0 ? (
        <div>
          <Typography.Title level={3}>{t('portal.payments.action')}</Typography.Title>
          <PaymentTable label={t('portal.payments.action')} payments={urgent} />
        </div>
      ) : null}
      {history.length > 0 ? (
        <div>
          {urgent.length > 0 ? <Typography.Title level={3}>{t('portal.payments.history')}</Typography.Title> : null}
          <PaymentTable label={t('portal.payments.history')} payments={history} />
        </div>
      ) : null}
      {hasNextPage ? (
        <div>
          <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {t('portal.more')}
          </Button>
        </div>
      ) : null}
    </Flex>
  );
}

function PaymentTable({ label, payments }: { label: string; payments: PaymentIntent[] }) {
  const { language } = useTexts();
  const phone = usePhone();
  return (
    <Table<PaymentIntent>
      aria-label={label}
      rowKey="id"
      showHeader={false}
      pagination={false}
      dataSource={payments}
      columns={[
        { key: 'what', render: (_, payment) => <Payment payment={payment} withStatus={phone} /> },
        { key: 'status', hidden: phone, render: (_, payment) => <PaymentTag payment={payment} /> },
        {
          key: 'amount',
          align: 'end',
          className: 'money',
          render: (_, { status, amount, amount_received: received, paymentCurrency: currency }) => (
            <strong>
              {formatMoney(
                status === 'succeeded' && received && received !== '0' ? received : amount,
                currency,
                language,
              )}
            </strong>
          ),
        },
      ]}
    />
  );
}

/** Description, time, method, links and, for a failed attempt, the reason. */
function Payment({ payment, withStatus }: { payment: PaymentIntent; withStatus: boolean }) {
  const { t, language } = useTexts();
  const { paymentMethod: method, last_payment_error: failure, invoice_id: invoice } = payment;
  const link = transactionLink(method, payment.payment_details);
  const name = descriptionText(payment, { t, language }) || payment.id;
  return (
    <Flex vertical gap={4} className={styles.payment}>
      {invoice && payment.invoice_status !== 'draft' ? (
        <Link to="/customer/invoice/$id" params={{ id: invoice }}>
          {name}
        </Link>
      ) : (
        name
      )}
      <Flex gap={12} wrap>
        <Typography.Text type="secondary">
          <time dateTime={payment.created_at}>{dateTimeText(payment.created_at, language)}</time>
          {method ? (
            <>
              {' '}
              <span style={{ whiteSpace: 'nowrap' }}>· {methodText(method, { t })}</span>
            </>
          ) : null}
        </Typography.Text>
        {link ? (
          <a href={link.url} target="_blank" rel="noopener noreferrer">
            {t('portal.payment.transaction')}
            <span className="sr-only"> {t('a11y.newTab')}</span>
          </a>
        ) : null}
      </Flex>
      {withStatus ? (
        <div>
          <PaymentTag payment={payment} />
        </div>
      ) : null}
      {failure && payment.status !== 'succeeded' ? (
        <Typography.Text type="secondary">
          {t('portal.payment.failed', {
            message: declineText(failure.code, method?.type === 'stripe', language),
          })}
        </Typography.Text>
      ) : null}
    </Flex>
  );
}
