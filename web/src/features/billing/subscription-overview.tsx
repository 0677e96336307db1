import { Typography } from 'antd';
import type { ReactNode } from 'react';
import type { Subscription } from '@/api/types';
import { useUser } from '@/app/queries';
import { dateTimeText } from '@/lib/format';
import { isAdmin } from '@/lib/roles';
import { Note } from './dialog';
import type { InvoiceListProps } from './invoice-table';
import { Invoices } from './invoices';
import { LinkButton } from './link-button';
import { nextText } from './next-text';
import styles from './pages.module.css';
import { PaymentToast } from './payment-toast';
import { PlanChangeNotice } from './plan-change-notice';
import { planText, subscriptionName } from './price-text';
import { Section } from './states';
import { SubscriptionTag } from './status';
import { SubscriptionDetails } from './subscription-details';
import { useTexts } from './texts';
import { SubscriptionTimeline } from './timeline';

interface OverviewProps extends Pick<InvoiceListProps, 'area' | 'action'> {
  subscription: Subscription;
  page?: number;
  pageSize?: number;
  /** The actions of the reader. */
  children: ReactNode;
}

/** A subscription: name, price and next event, actions, timeline, details and invoices. */
export function SubscriptionOverview({ subscription, area, action, page, pageSize, children }: OverviewProps) {
  const texts = useTexts();
  const { t } = texts;
  const user = useUser();
  return (
    <>
      <PaymentToast customerId={subscription.customer_id} />
      <header className={styles.head}>
        <div>
          <Typography.Title level={1}>{subscriptionName(subscription, texts)}</Typography.Title>
          <p className={`${styles.plan} money`}>{planText(subscription, texts)}</p>
          <Typography.Text type="secondary">{nextText(subscription, texts)}</Typography.Text>
          {subscription.livemode ? null : <p className={styles.test}>{t('subscription.testMode')}</p>}
        </div>
        <SubscriptionTag subscription={subscription} />
      </header>
      <ClockNotice subscription={subscription} forStore={area === 'console'} />
      <PlanChangeNotice subscription={subscription} />
      {children}
      <div className={styles.columns}>
        <Section id="timeline" title={t('subscription.timeline')}>
          <SubscriptionTimeline subscription={subscription} />
        </Section>
        <Section id="facts" title={t('subscription.facts')}>
          <SubscriptionDetails subscription={subscription} forStore={area === 'console'} />
        </Section>
      </div>
      {user ? (
        <Section id="invoices" title={t('portal.invoices')}>
          <Invoices
            page={page}
            pageSize={pageSize}
            scope={{ subscriptionId: subscription.id, customerId: subscription.customer_id }}
            area={area}
            action={action}
          />
        </Section>
      ) : null}
    </>
  );
}

/** The dates of a customer on a test clock follow the clock. */
function ClockNotice({ subscription, forStore }: { subscription: Subscription; forStore: boolean }) {
  const { t, language } = useTexts();
  const user = useUser();
  const clock = subscription.test_clock;
  if (!clock) return null;
  return (
    <Note
      type="info"
      title={t(forStore ? 'clock.noticeOf' : 'clock.notice', { date: dateTimeText(clock.now * 1000, language) })}
      description={t(forStore ? 'clock.noticeOfText' : 'clock.noticeText')}
      action={
        isAdmin(user) ? (
          <LinkButton to="/console/test-clocks" search={{ id: clock.id }}>
            {t('clock.open')}
          </LinkButton>
        ) : undefined
      }
    />
  );
}
