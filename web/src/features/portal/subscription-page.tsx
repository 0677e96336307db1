import { ArrowLeftOutlined } from '@ant-design/icons';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { ApiError } from '@/api/error';
import type { Subscription } from '@/api/types';
import { Failed, Notice } from '@/app/notice';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { spokenError } from '@/i18n/spoken';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { momentText } from '@/lib/format';
import { usePhone } from '@/lib/use-phone';
import { CancelDialog } from './cancel-dialog';
import { CardNotice } from './card-notice';
import { ExpiredLink } from './expired-link';
import { FundsDialog } from './funds-dialog';
import { InvoiceFeed } from './invoice-feed';
import { InvoiceTable } from './invoice-table';
import { nextText } from './next-text';
import { actsForStore } from './office-rules';
import { OverdueDebts } from './overdue-debts';
import { OverdueDialog } from './overdue-dialog';
import { OverdueInvoices } from './overdue-invoices';
import { PaidNews } from './paid-news';
import { PaymentDialog } from './payment-dialog';
import { PlanDialog } from './plan-dialog';
import { planText, subscriptionName } from './price-text';
import { subscriptionQuery } from './queries';
import { refreshAfterPayment } from './refresh';
import { ResumeDialog } from './resume-dialog';
import { SubscriptionBadge } from './status';
import { SubscriptionFacts } from './subscription-facts';
import styles from './subscription-page.module.css';
import { actionsOf, cardTrouble, type SubscriptionAction, timeOf } from './subscription-rules';
import { type Key, useTexts } from './texts';
import { TimeLine } from './time-line';

/** What the store does with it; customers never load it. */
const OfficeActions = lazy(() => import('./office-actions'));

interface SubscriptionPageProps {
  id: string;
  page?: number;
  pageSize?: number;
  /** What the customer came for: it stands open. */
  action?: 'changePayment';
}

export function SubscriptionPage({ id, ...rest }: SubscriptionPageProps) {
  const texts = useTexts();
  const { t } = texts;
  const { data, error, refetch } = useQuery(subscriptionQuery(id));
  const refused = error instanceof ApiError && (error.status === 404 || error.status === 403);
  usePageTitle(data ? subscriptionName(data, texts) : t('subscription.title'));
  return (
    <div className={styles.page}>
      <Link to="/customer" className={styles.back}>
        <ArrowLeftOutlined aria-hidden="true" /> {t('subscription.back')}
      </Link>
      {data ? (
        <Sheet subscription={data} {...rest} />
      ) : refused ? (
        <Notice asPage title={t('subscription.notFound')} text={t('subscription.notFoundText')} />
      ) : error instanceof ApiError && error.status === 401 ? (
        <ExpiredLink />
      ) : error ? (
        <Failed title={t('subscription.error')} text={spokenError(error)} onRetry={() => void refetch()} />
      ) : (
        <div className={styles.waiting} aria-busy="true">
          <p className="unseen">{t('state.loading')}</p>
        </div>
      )}
    </div>
  );
}

function Sheet({
  subscription,
  page,
  pageSize,
  action,
}: Omit<SubscriptionPageProps, 'id'> & { subscription: Subscription }) {
  const texts = useTexts();
  const { t } = texts;
  const phone = usePhone();
  const [done, setDone] = useState<Key | null>(null);
  // Whoever runs the store sees what belongs to somebody else.
  const scope = { subscriptionId: subscription.id, customerId: subscription.customer_id };
  const user = useUser();
  const forStore = actsForStore(user, subscription.customer.did);
  return (
    <>
      <PaidNews customerId={subscription.customer_id} />
      <header className={styles.head}>
        <div>
          <h1>{subscriptionName(subscription, texts)}</h1>
          <p className={`${styles.plan} money`}>{planText(subscription, texts)}</p>
          <p className={styles.next}>{nextText(subscription, texts)}</p>
        </div>
        <SubscriptionBadge subscription={subscription} />
        {subscription.livemode ? null : <p className={styles.test}>{t('subscription.testMode')}</p>}
      </header>
      <ClockNotice subscription={subscription} />
      <div role="status" className={styles.done}>
        {done ? (
          <Alert tone="ok">
            <p>{t(done)}</p>
          </Alert>
        ) : null}
      </div>
      {forStore ? (
        <>
          <CardNotice subscription={subscription} reader="store" />
          <Suspense fallback={<div className={styles.officeWaiting} aria-busy="true" />}>
            <OfficeActions subscription={subscription} />
          </Suspense>
        </>
      ) : (
        <Actions subscription={subscription} asked={action} onDone={setDone} />
      )}
      <div className={styles.columns}>
        <section aria-labelledby="timeline">
          <h2 id="timeline">{t('subscription.timeline')}</h2>
          <TimeLine subscription={subscription} />
        </section>
        <section aria-labelledby="facts">
          <h2 id="facts">{t('subscription.facts')}</h2>
          <SubscriptionFacts subscription={subscription} forStore={forStore} />
        </section>
      </div>
      {user ? (
        <section aria-labelledby="invoices">
          <h2 id="invoices">{t('portal.invoices')}</h2>
          {phone ? (
            <InvoiceFeed scope={scope} forStore={forStore} />
          ) : (
            <InvoiceTable page={page} pageSize={pageSize} scope={scope} forStore={forStore} />
          )}
        </section>
      ) : null}
    </>
  );
}

/** A clock of its own: its dates are not today's. */
function ClockNotice({ subscription }: { subscription: Subscription }) {
  const { t, language } = useTexts();
  const user = useUser();
  const clock = subscription.test_clock;
  if (!clock) return null;
  const office = user?.role === 'owner' || user?.role === 'admin';
  return (
    <Alert tone="info" title={t('clock.notice', { date: momentText(clock.now * 1000, language) })}>
      <p>{t('clock.noticeText')}</p>
      {office ? (
        <p>
          <Link to="/console/test-clocks" search={{ id: clock.id }} className={styles.link}>
            {t('clock.open')}
          </Link>
        </p>
      ) : null}
    </Alert>
  );
}

const DONE: Record<SubscriptionAction, Key> = {
  pay: 'pay.done',
  cancel: 'cancel.done',
  resume: 'resume.done',
  changePlan: 'plan.done',
  changePayment: 'payment.done',
  addFunds: 'funds.done',
};

interface ActionsProps {
  subscription: Subscription;
  asked?: SubscriptionAction;
  onDone: (text: Key | null) => void;
}

function Actions({ subscription, asked, onDone }: ActionsProps) {
  const { t } = useTexts();
  const user = useUser();
  // The link of a mail lets its holder pay, and change nothing.
  const actions = actionsOf(subscription).filter((action) => user || action === 'pay');
  const navigate = useNavigate();
  const [open, setOpen] = useState(() => actions.find((action) => action === asked) ?? null);
  const reader = user ? 'customer' : 'link';
  if (actions.length === 0) return <CardNotice subscription={subscription} reader={reader} />;
  // What the notice of the card offers stands there, not twice.
  const offered = actions.includes('changePayment') && cardTrouble(subscription, timeOf(subscription)) !== null;
  const close = () => {
    setOpen(null);
    // Whoever loads the page again has not asked for it again.
    if (asked) void navigate({ to: '.', search: ({ action: _, ...rest }) => rest, replace: true, resetScroll: false });
  };
  const begin = (action: SubscriptionAction) => {
    onDone(null);
    setOpen(action);
  };
  const finish = async (said?: Key) => {
    const action = open;
    await refreshAfterPayment();
    close();
    if (action) onDone(said ?? DONE[action]);
  };
  const dialog = { subscription, onClose: close, onDone: finish };
  return (
    <>
      <CardNotice subscription={subscription} reader={reader}>
        {offered ? (
          <Button look="secondary" onClick={() => begin('changePayment')}>
            {t('action.changePayment')}
          </Button>
        ) : null}
      </CardNotice>
      <div className={styles.actions}>
        {actions
          .filter((action) => action !== 'changePayment' || !offered)
          .map((action) => (
            <Button
              key={action}
              look={action === 'pay' || action === 'resume' ? 'primary' : action === 'cancel' ? 'danger' : 'secondary'}
              onClick={() => begin(action)}
            >
              {t(action === 'cancel' ? 'action.cancelSubscription' : `action.${action}`)}
            </Button>
          ))}
        {open === 'cancel' ? <CancelDialog {...dialog} /> : null}
        {open === 'resume' ? <ResumeDialog {...dialog} /> : null}
        {open === 'changePlan' ? <PlanDialog {...dialog} /> : null}
        {open === 'changePayment' ? <PaymentDialog {...dialog} /> : null}
        {open === 'addFunds' ? <FundsDialog {...dialog} /> : null}
        {open === 'pay' ? (
          <OverdueDialog
            debtor={{ subscriptionId: subscription.id }}
            onClose={close}
            onPaid={() => void finish()}
            custom={(debts, { invoices }) => (
              <>
                <OverdueInvoices invoices={invoices} />
                <OverdueDebts debts={debts} invoices={invoices} debtor={{ subscriptionId: subscription.id }} />
              </>
            )}
          />
        ) : null}
      </div>
    </>
  );
}
