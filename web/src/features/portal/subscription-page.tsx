import { useQuery } from '@tanstack/react-query';
import { Navigate, useNavigate } from '@tanstack/react-router';
import { Alert, Button, Flex } from 'antd';
import { useState } from 'react';
import { ApiError } from '@/api/error';
import type { Subscription } from '@/api/types';
import { usePageTitle } from '@/app/page';
import { useUser } from '@/app/queries';
import { BackLink } from '@/features/billing/back-link';
import { CardNotice } from '@/features/billing/card-notice';
import { LinkButton } from '@/features/billing/link-button';
import styles from '@/features/billing/pages.module.css';
import { subscriptionName } from '@/features/billing/price-text';
import { subscriptionQuery } from '@/features/billing/queries';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { LoadError, Loading, PageResult } from '@/features/billing/states';
import { SubscriptionOverview } from '@/features/billing/subscription-overview';
import { actionsOf, cardProblem, type SubscriptionAction, timeOf } from '@/features/billing/subscription-rules';
import { type Key, useTexts } from '@/features/billing/texts';
import { actsForStore, isAdmin } from '@/lib/roles';
import { CancelDialog } from './cancel-dialog';
import { ExpiredLink } from './expired-link';
import { OverdraftDialog } from './overdraft-dialog';
import { OverdueDialog } from './overdue-dialog';
import { payAction } from './pay';
import { PaymentDialog } from './payment-dialog';
import { PlanDialog } from './plan-dialog';
import { ResumeDialog } from './resume-dialog';
import { TopUpDialog } from './top-up-dialog';

interface SubscriptionPageProps {
  id: string;
  page?: number;
  pageSize?: number;
  /** The dialog that is open at first. */
  action?: 'changePayment';
}

export function SubscriptionPage({ id, action, ...rest }: SubscriptionPageProps) {
  const texts = useTexts();
  const { t } = texts;
  const user = useUser();
  const { data, error, refetch } = useQuery(subscriptionQuery(id));
  const notFound = error instanceof ApiError && (error.status === 404 || error.status === 403);
  usePageTitle(data ? subscriptionName(data, texts) : t('subscription.title'));
  if (data && actsForStore(user, data.customer.did))
    return <Navigate to="/console/subscriptions/$id" params={{ id }} replace />;
  return (
    <div className={styles.page}>
      <Flex justify="space-between" align="center" gap={12} wrap>
        <BackLink to="/customer">{t('subscription.back')}</BackLink>
        {isAdmin(user) ? (
          <LinkButton to="/console/subscriptions/$id" params={{ id }}>
            {t('subscription.admin')}
          </LinkButton>
        ) : null}
      </Flex>
      {data ? (
        <SubscriptionOverview subscription={data} area="customer" action={payAction} {...rest}>
          <Actions subscription={data} initial={action} />
        </SubscriptionOverview>
      ) : notFound ? (
        <PageResult status="warning" title={t('subscription.notFound')} text={t('subscription.notFoundText')} />
      ) : error instanceof ApiError && error.status === 401 ? (
        <ExpiredLink />
      ) : error ? (
        <LoadError title={t('subscription.error')} error={error} onRetry={() => void refetch()} />
      ) : (
        <Loading title rows={14} />
      )}
    </div>
  );
}

const DONE: Record<SubscriptionAction, Key> = {
  pay: 'pay.done',
  cancel: 'cancel.done',
  resume: 'resume.done',
  changePlan: 'plan.done',
  changePayment: 'payment.done',
  addFunds: 'topUp.done',
  overdraft: 'overdraft.done',
};

/** Whether the card was confirmed by its bank: it replaces the mandate of before. */
const isNewCard = (now: Subscription['mandate'], before: Subscription['mandate']) =>
  now?.type === 'card' && JSON.stringify(now) !== JSON.stringify(before);

/** What the customer can do now; each action opens its dialog, and its message stays on the page. */
function Actions({ subscription, initial }: { subscription: Subscription; initial?: SubscriptionAction }) {
  const { t } = useTexts();
  const user = useUser();
  const navigate = useNavigate();
  // The holder of an email link can only pay.
  const actions = actionsOf(subscription).filter((action) => user || action === 'pay');
  const [done, setDone] = useState<Key | null>(null);
  // The payment method when the dialog opened.
  const [mandateBefore, setMandateBefore] = useState(subscription.mandate);
  const message = done === 'payment.doneCard' && isNewCard(subscription.mandate, mandateBefore) ? 'payment.done' : done;
  const [open, setOpen] = useState(() => actions.find((action) => action === initial) ?? null);
  // The card notice has the button that changes the card.
  const isInNotice = actions.includes('changePayment') && cardProblem(subscription, timeOf(subscription)) !== null;
  const close = () => {
    setOpen(null);
    // A reload does not open the dialog again.
    if (initial)
      void navigate({ to: '.', search: ({ action: _, ...rest }) => rest, replace: true, resetScroll: false });
  };
  const openDialog = (action: SubscriptionAction) => {
    setDone(null);
    setMandateBefore(subscription.mandate);
    setOpen(action);
  };
  const finish = async (message?: Key) => {
    const action = open;
    await refreshAfterPayment();
    close();
    if (action) setDone(message ?? DONE[action]);
  };
  const dialog = { subscription, onClose: close, onDone: finish };
  // One emphasized button: an overdue payment comes first.
  const primary = actions.find((action) => action === 'pay' || action === 'resume');
  return (
    <>
      <CardNotice subscription={subscription} reader={user ? 'customer' : 'link'}>
        {isInNotice ? <Button onClick={() => openDialog('changePayment')}>{t('action.changePayment')}</Button> : null}
      </CardNotice>
      {actions.length > 0 ? (
        <div className={styles.actions}>
          {actions
            .filter((action) => action !== 'changePayment' || !isInNotice)
            .map((action) => (
              <Button
                key={action}
                type={action === primary ? 'primary' : 'default'}
                danger={action === 'cancel'}
                onClick={() => openDialog(action)}
              >
                {t(action === 'cancel' ? 'action.cancelSubscription' : `action.${action}`)}
              </Button>
            ))}
        </div>
      ) : null}
      {/* Below the buttons, which keep their place when it appears. */}
      <div role="status" className={styles.status}>
        {message ? <Alert type="success" showIcon role="presentation" title={t(message)} /> : null}
      </div>
      {open === 'cancel' ? <CancelDialog {...dialog} /> : null}
      {open === 'resume' ? <ResumeDialog {...dialog} /> : null}
      {open === 'changePlan' ? <PlanDialog {...dialog} /> : null}
      {open === 'changePayment' ? <PaymentDialog {...dialog} /> : null}
      {open === 'addFunds' ? <TopUpDialog {...dialog} /> : null}
      {open === 'overdraft' ? <OverdraftDialog {...dialog} /> : null}
      {open === 'pay' ? (
        <OverdueDialog payer={{ subscriptionId: subscription.id }} onClose={close} onPaid={() => void finish()} />
      ) : null}
    </>
  );
}
