import { useQuery } from '@tanstack/react-query';
import { Card, Col, Flex, Row, Statistic } from 'antd';
import type { Overdue, Subscription } from '@/api/types';
import { useUser } from '@/app/queries';
import { CardNotice } from '@/features/billing/card-notice';
import { Note } from '@/features/billing/dialog';
import { eventDate } from '@/features/billing/event-date';
import { LinkButton } from '@/features/billing/link-button';
import { subscriptionName } from '@/features/billing/price-text';
import { overdueQuery, subscriptionsQuery } from '@/features/billing/queries';
import { LoadError, Loading } from '@/features/billing/states';
import { isEnding, timeOf, trialEndsSoon } from '@/features/billing/subscription-rules';
import { type Texts, useTexts } from '@/features/billing/texts';
import { formatMoney } from '@/lib/amount';
import { dateText } from '@/lib/format';

/** The value of a figure that is not known. */
const UNKNOWN = '–';

/** What needs action, then three figures of the account. */
export function Summary() {
  const texts = useTexts();
  const { t, language } = texts;
  const user = useUser();
  const { data: page, isError } = useQuery(subscriptionsQuery);
  const {
    data: overdue,
    error,
    refetch,
  } = useQuery({
    ...overdueQuery({ customerId: user?.did ?? '' }),
    enabled: Boolean(user),
  });
  const balance = overdueText(overdue, texts);
  const pastDue = balance ? (
    <PastDue balance={balance} />
  ) : error && !overdue ? (
    <LoadError title={t('overdue.error')} error={error} onRetry={() => void refetch()} />
  ) : null;
  if (!page && !isError) return <Loading rows={2} />;
  // The list below shows that subscriptions failed to load; the overdue balance is independent of it.
  if (!page || page.list.length === 0)
    return pastDue ? <section aria-label={t('summary.title')}>{pastDue}</section> : null;
  const active = page.list.filter(
    ({ status }) => status === 'active' || status === 'trialing' || status === 'past_due',
  );
  const next = nextPayment(active);
  return (
    <section aria-label={t('summary.title')}>
      <Flex vertical gap={16}>
        {pastDue}
        {page.list
          .filter((each) => trialEndsSoon(each, timeOf(each)))
          .map((each) => (
            <Note
              key={each.id}
              type="warning"
              title={t('summary.trialEnds', {
                name: subscriptionName(each, texts),
                date: dateText((each.trial_end ?? 0) * 1000, language),
              })}
              action={
                <LinkButton to="/customer/subscription/$id" params={{ id: each.id }}>
                  {t('summary.see')}
                </LinkButton>
              }
            />
          ))}
        {page.list.map((each) => (
          <CardNotice key={each.id} subscription={each} reader="customer">
            <LinkButton
              to="/customer/subscription/$id"
              params={{ id: each.id }}
              search={{ action: 'changePayment' as const }}
            >
              {t('action.changePayment')}
            </LinkButton>
          </CardNotice>
        ))}
        <Row gutter={[16, 16]}>
          <Figure title={t('summary.running')} value={String(active.length)} />
          <Figure
            title={next ? t('summary.nextOn', { date: eventDate(next.at, next, language) }) : t('summary.next')}
            value={next ? formatMoney(next.amount, next.currency, language) : t('summary.none')}
          />
          <Figure
            title={t('summary.overdue')}
            value={overdue ? balance || t('summary.nothing') : UNKNOWN}
            alarming={Boolean(balance)}
          />
        </Row>
      </Flex>
    </section>
  );
}

function PastDue({ balance }: { balance: string }) {
  const { t } = useTexts();
  return (
    <Note
      type="error"
      title={t('summary.pastDue', { amount: balance })}
      description={t('summary.pastDueText')}
      action={
        <LinkButton color="primary" variant="solid" to="/customer/invoice/past-due">
          {t('summary.pay')}
        </LinkButton>
      }
    />
  );
}

function Figure({ title, value, alarming = false }: { title: string; value: string; alarming?: boolean }) {
  return (
    <Col xs={24} md={8}>
      <Card size="small">
        <Statistic
          title={title}
          value={value}
          formatter={() => value}
          styles={{ content: { color: alarming ? 'var(--danger)' : undefined, overflowWrap: 'anywhere' } }}
        />
      </Card>
    </Col>
  );
}

/** The next payment of all subscriptions. */
function nextPayment(list: Subscription[]) {
  return list
    .filter((each) => !isEnding(each))
    .flatMap(({ next_invoice: next, paymentCurrency: currency, items }) => (next ? [{ ...next, currency, items }] : []))
    .sort((a, b) => a.at - b.at)[0];
}

/** The overdue balance in each currency; amounts of different currencies are never added. */
export function overdueText(overdue: Overdue | undefined, { language }: Pick<Texts, 'language'>): string {
  return Object.values(overdue?.summary ?? {})
    .map(({ amount, currency }) => formatMoney(amount, currency, language))
    .join(' + ');
}
