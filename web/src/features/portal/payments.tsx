import { useInfiniteQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import type { PaymentIntent } from '@/api/types';
import { Failed, Notice } from '@/app/notice';
import { refusalText } from '@/i18n/refusals';
import { spokenError } from '@/i18n/spoken';
import { formatMoney } from '@/lib/amount';
import { transactionLink } from '@/lib/explorer';
import { momentText } from '@/lib/format';
import { methodText } from './invoice-text';
import { useNames } from './names';
import styles from './payments.module.css';
import { paymentsQuery } from './queries';
import { PaymentBadge } from './status';
import { useTexts } from './texts';

/** What was paid and what was tried, newest first, with the way to look it up elsewhere. */
export function Payments() {
  const { t } = useTexts();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = useInfiniteQuery(paymentsQuery);
  if (error && !data)
    return <Failed title={t('portal.payments.error')} text={spokenError(error)} onRetry={() => void refetch()} />;
  if (!data) return <div className={styles.waiting} aria-busy="true" />;
  const list = data.pages.flatMap((page) => page.list);
  if (list.length === 0) return <Notice title={t('portal.payments.empty')} />;
  return (
    <>
      <ul className={styles.payments}>
        {list.map((payment) => (
          <Payment key={payment.id} payment={payment} />
        ))}
      </ul>
      {hasNextPage ? (
        <Button className={styles.more} loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t('portal.more')}
        </Button>
      ) : null}
    </>
  );
}

function Payment({ payment }: { payment: PaymentIntent }) {
  const texts = useTexts();
  const { t, language } = texts;
  const named = useNames();
  const {
    amount,
    amount_received: received,
    paymentCurrency: currency,
    paymentMethod: method,
    last_payment_error: failure,
  } = payment;
  const paid = payment.status === 'succeeded' && received && received !== '0' ? received : amount;
  const link = transactionLink(method, payment.payment_details);
  return (
    <li className={styles.payment}>
      <span className={`${styles.amount} money`}>{formatMoney(paid, currency, language)}</span>
      <span className={styles.what}>{named(payment.description || payment.id)}</span>
      <PaymentBadge status={payment.status} />
      <span className={styles.when}>
        <time dateTime={payment.created_at}>{momentText(payment.created_at, language)}</time>
        {method ? ` · ${methodText(method, { t })}` : ''}
        {link ? (
          <>
            {' · '}
            <a href={link.url} target="_blank" rel="noopener noreferrer">
              {t('portal.payment.transaction')}
              <span className="unseen"> {t('a11y.newTab')}</span>
            </a>
          </>
        ) : null}
        {failure && payment.status !== 'succeeded' ? (
          <span className={styles.failure}>
            {t('portal.payment.failed', { message: refusalText(failure.code, method?.type === 'stripe', language) })}
          </span>
        ) : null}
      </span>
    </li>
  );
}
