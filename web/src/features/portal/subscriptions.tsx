import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button, Card, Flex, Typography } from 'antd';
import { useState } from 'react';
import type { Subscription } from '@/api/types';
import { nextText } from '@/features/billing/next-text';
import { planText, subscriptionName } from '@/features/billing/price-text';
import { subscriptionsQuery } from '@/features/billing/queries';
import { EmptyState, LoadError, Loading } from '@/features/billing/states';
import { SubscriptionTag } from '@/features/billing/status';
import { byUrgency } from '@/features/billing/subscription-rules';
import { useTexts } from '@/features/billing/texts';
import styles from './lists.module.css';

/** The customer's subscriptions, those that need action first; ended ones on demand. */
export function Subscriptions() {
  const { t } = useTexts();
  const [all, setAll] = useState(false);
  const { data, error, refetch } = useQuery(subscriptionsQuery);
  if (error && !data)
    return <LoadError title={t('subscriptions.error')} error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  if (data.list.length === 0) return <EmptyState text={t('subscriptions.empty')} />;
  const list = byUrgency(data.list);
  const active = list.filter(({ status }) => status !== 'canceled');
  const ended = list.length - active.length;
  // Customers with only ended subscriptions see those.
  const shown = all || active.length === 0 ? list : active;
  return (
    <Flex vertical gap={12} align="start">
      <ul className={styles.cards}>
        {shown.map((each) => (
          <SubscriptionCard key={each.id} subscription={each} />
        ))}
      </ul>
      {shown.length < list.length ? (
        <Button onClick={() => setAll(true)}>{t('subscriptions.showEnded', { count: ended })}</Button>
      ) : null}
    </Flex>
  );
}

function SubscriptionCard({ subscription }: { subscription: Subscription }) {
  const texts = useTexts();
  return (
    <li>
      <Card hoverable className={styles.card}>
        <Flex justify="space-between" align="start" gap={12} wrap>
          <Typography.Title level={3}>
            <Link to="/customer/subscription/$id" params={{ id: subscription.id }} className={styles.cardLink}>
              {subscriptionName(subscription, texts)}
            </Link>
          </Typography.Title>
          <SubscriptionTag subscription={subscription} />
        </Flex>
        <p className="money">
          <strong>{planText(subscription, texts)}</strong>
        </p>
        <Typography.Text type="secondary">{nextText(subscription, texts)}</Typography.Text>
      </Card>
    </li>
  );
}
