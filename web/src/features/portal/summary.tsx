import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Overdue, Subscription } from '@/api/types';
import { useUser } from '@/app/queries';
import { Alert } from '@/kit/alert';
import { formatMoney } from '@/lib/amount';
import { dayText } from '@/lib/format';
import { CardNotice } from './card-notice';
import { subscriptionName } from './price-text';
import { overdueQuery, subscriptionsQuery } from './queries';
import { isEnding, timeOf, trialEndsSoon } from './subscription-rules';
import styles from './summary.module.css';
import { type Texts, useTexts } from './texts';

/** What needs the customer first, then where the account stands in three figures. */
export function Summary() {
  const texts = useTexts();
  const { t, language } = texts;
  const user = useUser();
  const { data: page, isError } = useQuery(subscriptionsQuery);
  const { data: overdue } = useQuery({
    ...overdueQuery({ customerId: user?.did ?? '' }),
    enabled: Boolean(user),
  });
  const debts = debtText(overdue, texts);
  if (!page) {
    // What is below says that the subscriptions could not be loaded; what is owed is known all the same.
    if (isError)
      return debts ? (
        <section aria-label={t('summary.title')}>
          <PastDue debts={debts} />
        </section>
      ) : null;
    return <div className={styles.waiting} />;
  }
  const running = page.list.filter(
    ({ status }) => status === 'active' || status === 'trialing' || status === 'past_due',
  );
  const next = nextPayment(running);
  if (page.list.length === 0 && !debts) return null;
  return (
    <section className={styles.summary} aria-label={t('summary.title')}>
      {debts ? <PastDue debts={debts} /> : null}
      {page.list
        .filter((each) => trialEndsSoon(each, timeOf(each)))
        .map((each) => (
          <Alert
            key={each.id}
            tone="warn"
            title={t('summary.trialEnds', {
              name: subscriptionName(each, texts),
              date: dayText((each.trial_end ?? 0) * 1000, language),
            })}
          >
            <p>
              <Link to="/customer/subscription/$id" params={{ id: each.id }} className={styles.link}>
                {t('summary.see')}
              </Link>
            </p>
          </Alert>
        ))}
      {page.list.map((each) => (
        <CardNotice key={each.id} subscription={each} reader="customer">
          <Link
            to="/customer/subscription/$id"
            params={{ id: each.id }}
            search={{ action: 'changePayment' }}
            className={styles.link}
          >
            {t('action.changePayment')}
          </Link>
        </CardNotice>
      ))}
      <dl className={styles.figures}>
        <Figure name={t('summary.running')}>{running.length}</Figure>
        <Figure
          name={t('summary.next')}
          note={next ? t('summary.on', { date: dayText(next.at * 1000, language) }) : undefined}
        >
          {next ? formatMoney(next.amount, next.currency, language) : t('summary.none')}
        </Figure>
        <Figure name={t('summary.debts')} alarming={Boolean(debts)}>
          {debts || t('summary.nothing')}
        </Figure>
      </dl>
    </section>
  );
}

function PastDue({ debts }: { debts: string }) {
  const { t } = useTexts();
  return (
    <Alert tone="danger" title={t('summary.pastDue', { amount: debts })}>
      <p>{t('summary.pastDueText')}</p>
      <p>
        <Link to="/customer/invoice/past-due" className={`k-button k-button-primary ${styles.pay}`}>
          {t('summary.pay')}
        </Link>
      </p>
    </Alert>
  );
}

function Figure({
  name,
  note,
  alarming = false,
  children,
}: {
  name: string;
  note?: string;
  alarming?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={styles.figure}>
      <dt>{name}</dt>
      <dd className={`money ${alarming ? styles.alarming : ''}`}>{children}</dd>
      {note ? <dd className={styles.note}>{note}</dd> : null}
    </div>
  );
}

/** The payment that comes first of all. */
function nextPayment(list: Subscription[]) {
  return list
    .filter((each) => !isEnding(each))
    .flatMap(({ next_invoice: next, paymentCurrency: currency }) => (next ? [{ ...next, currency }] : []))
    .sort((a, b) => a.at - b.at)[0];
}

/** All debts, each in its own currency; amounts of different currencies are never added. */
export function debtText(overdue: Overdue | undefined, { language }: Pick<Texts, 'language'>): string {
  return Object.values(overdue?.summary ?? {})
    .map(({ amount, currency }) => formatMoney(amount, currency, language))
    .join(' + ');
}
