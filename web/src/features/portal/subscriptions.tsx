import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Subscription } from '@/api/types';
import { Failed, Notice } from '@/app/notice';
import { spokenError } from '@/i18n/spoken';
import { Button } from '@/kit/button';
import { nextText } from './next-text';
import { planText, subscriptionName } from './price-text';
import { subscriptionsQuery } from './queries';
import { SubscriptionBadge } from './status';
import { byUrgency } from './subscription-rules';
import styles from './subscriptions.module.css';
import { useTexts } from './texts';

/** What the customer is subscribed to, what needs them first; what has ended only on demand. */
export function Subscriptions() {
  const { t } = useTexts();
  const [all, setAll] = useState(false);
  const { data, error, refetch } = useQuery(subscriptionsQuery);
  if (error && !data)
    return <Failed title={t('subscriptions.error')} text={spokenError(error)} onRetry={() => void refetch()} />;
  if (!data) return <div className={styles.waiting} aria-busy="true" />;
  if (data.list.length === 0) return <Notice title={t('subscriptions.empty')} />;
  const list = byUrgency(data.list);
  const running = list.filter(({ status }) => status !== 'canceled');
  const ended = list.length - running.length;
  // Nothing but ended ones is still something to show.
  const shown = all || running.length === 0 ? list : running;
  return (
    <>
      <ul className={styles.cards}>
        {shown.map((each) => (
          <Card key={each.id} subscription={each} />
        ))}
      </ul>
      {shown.length < list.length ? (
        <Button className={styles.more} onClick={() => setAll(true)}>
          {t('subscriptions.showEnded', { count: ended })}
        </Button>
      ) : null}
    </>
  );
}

function Card({ subscription }: { subscription: Subscription }) {
  const texts = useTexts();
  return (
    <li className={styles.card}>
      <h3>
        <Link to="/customer/subscription/$id" params={{ id: subscription.id }} className={styles.open}>
          {subscriptionName(subscription, texts)}
        </Link>
      </h3>
      <SubscriptionBadge subscription={subscription} />
      <p className={`${styles.plan} money`}>{planText(subscription, texts)}</p>
      <p className={styles.next}>{nextText(subscription, texts)}</p>
    </li>
  );
}
