import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Flex, Timeline, Typography } from 'antd';
import type { Invoice, Subscription, TestClock } from '@/api/types';
import { subscriptionName } from '@/features/billing/price-text';
import { dateTimeText } from '@/lib/format';
import { customerInvoicesQuery, customerSubscriptionsQuery } from './queries';
import { useTexts } from './texts';

type Event = TestClock['timeline'][number];

/** The events of a clock, the latest first. */
export function Activity({ events, customerId }: { events: Event[]; customerId: string }) {
  const { data: subscriptions } = useQuery(customerSubscriptionsQuery(customerId));
  const { data: invoices } = useQuery(customerInvoicesQuery(customerId));
  const { t, language } = useTexts();
  if (events.length === 0) return <Typography.Text type="secondary">{t('clocks.noActivity')}</Typography.Text>;
  const latestFirst = events.map((event, index) => ({ event, index })).reverse();
  return (
    <Timeline
      items={latestFirst.map(({ event, index }) => ({
        key: index,
        content: (
          <>
            <Typography.Text type="secondary">
              <time dateTime={new Date(event.at * 1000).toISOString()}>{dateTimeText(event.at * 1000, language)}</time>
            </Typography.Text>
            <Flex gap={8} wrap>
              {t(`activity.${event.what}`)}
              <Subject
                subject={event.subject}
                subscriptions={subscriptions?.list ?? []}
                invoices={invoices?.list ?? []}
              />
            </Flex>
          </>
        ),
      }))}
    />
  );
}

interface SubjectProps {
  subject: string | null;
  subscriptions: Subscription[];
  invoices: Invoice[];
}

/** A link to the invoice, by its number, or to the subscription that an event is about. */
function Subject({ subject, subscriptions, invoices }: SubjectProps) {
  const texts = useTexts();
  if (!subject) return null;
  if (subject.startsWith('in_')) {
    return (
      <Link to="/console/invoices/$id" params={{ id: subject }} title={subject}>
        {invoices.find(({ id }) => id === subject)?.number || texts.t('clocks.invoice')}
      </Link>
    );
  }
  if (subject.startsWith('sub_')) {
    const subscription = subscriptions.find(({ id }) => id === subject);
    return (
      <Link to="/console/subscriptions/$id" params={{ id: subject }} title={subject}>
        {subscription ? subscriptionName(subscription, texts) : subject}
      </Link>
    );
  }
  return <Typography.Text type="secondary">{subject}</Typography.Text>;
}
