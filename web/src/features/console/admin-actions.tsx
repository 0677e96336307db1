import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Alert, Button, Card } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import type { Subscription } from '@/api/types';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { Note } from '@/features/billing/dialog';
import styles from '@/features/billing/pages.module.css';
import { invoiceQuery, invoicesQuery, PAGE_SIZE } from '@/features/billing/queries';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { formatMoney } from '@/lib/amount';
import { dateText } from '@/lib/format';
import { AdminCancelDialog } from './admin-cancel-dialog';
import { type AdminAction, adminActions, needsChoice, onHoldText } from './admin-rules';
import { useAdminTexts } from './admin-texts';
import { ForfeitDepositDialog } from './forfeit-deposit-dialog';
import { RefundButton } from './refund-button';
import { ResumeBillingDialog } from './resume-billing-dialog';

/** The actions of an administrator for a customer's subscription. None of them needs the customer's wallet. */
export function AdminActions({ subscription }: { subscription: Subscription }) {
  const texts = useAdminTexts();
  const { t } = texts;
  const [open, setOpen] = useState<AdminAction | null>(null);
  const [done, setDone] = useState<AdminAction | null>(null);
  const close = () => setOpen(null);
  const finish = async () => {
    await refreshAfterPayment();
    setDone(open);
    setOpen(null);
  };
  const dialog = { subscription, onClose: close, onDone: () => void finish() };
  const { customer } = subscription;
  return (
    <section aria-labelledby="admin">
      <Card
        title={
          <h2 id="admin" className={styles.cardTitle}>
            {t('title')}
          </h2>
        }
      >
        <div className={styles.document}>
          <p>{t('who', { name: [customer.name, customer.email].filter(Boolean).join(' · ') || customer.did })}</p>
          <p>
            <Link to="/console/customers/$id" params={{ id: customer.id }}>
              {t('openCustomer')}
            </Link>
          </p>
          {subscription.on_hold ? (
            <Note
              type="error"
              title={t('onHold.title')}
              description={
                <>
                  <p>{onHoldText(subscription, texts)}</p>
                  <p>{t(adviceFor(subscription))}</p>
                </>
              }
            />
          ) : null}
          <div role="status" className={styles.status}>
            {done ? <Alert type="success" showIcon role="presentation" title={t(`done.${done}`)} /> : null}
          </div>
          <div className={styles.actions}>
            {adminActions(subscription).map((action) => (
              <Button
                key={action}
                type={action === 'resumeBilling' || action === 'resume' ? 'primary' : 'default'}
                danger={action === 'forfeitDeposit' || action === 'cancel'}
                onClick={() => {
                  setDone(null);
                  setOpen(action);
                }}
              >
                {t(`admin.${action}`)}
              </Button>
            ))}
            <RefundLast subscription={subscription} />
          </div>
        </div>
      </Card>
      {open === 'cancel' ? (
        <AdminCancelDialog {...dialog} />
      ) : open === 'forfeitDeposit' ? (
        <ForfeitDepositDialog {...dialog} />
      ) : open === 'resumeBilling' && needsChoice(subscription) ? (
        <ResumeBillingDialog
          id={subscription.id}
          count={subscription.unbilled_periods}
          nextPeriod={subscription.next_period_start}
          onClose={close}
          onDone={dialog.onDone}
        />
      ) : open ? (
        <Confirm action={open} {...dialog} />
      ) : null}
    </section>
  );
}

/** What the owner can do about the hold. */
const adviceFor = (subscription: Subscription) => {
  if (needsChoice(subscription)) return 'onHold.decide';
  return subscription.on_hold_until ? 'onHold.limited' : 'onHold.text';
};

const PATHS = {
  resumeBilling: 'resume-billing',
  resume: 'resume',
  pause: 'pause',
  recover: 'recover',
  returnDeposit: 'return-stake',
};

interface ConfirmProps {
  action: keyof typeof PATHS;
  subscription: Subscription;
  onClose: () => void;
  onDone: () => void;
}

/** An action that only needs a confirmation. */
function Confirm({ action, subscription, onClose, onDone }: ConfirmProps) {
  const { t, language } = useAdminTexts();
  const { staking, paymentCurrency: currency } = subscription;
  const day = (at: number) => dateText(at * 1000, language);
  const run = async () => {
    const path = `/api/subscriptions/${encodeURIComponent(subscription.id)}/${PATHS[action]}`;
    const response = await api.put<{ needStake?: boolean } | null>(path, {});
    // With `needStake`, the server has not changed anything.
    if (action === 'recover' && response?.needStake) throw new Error(t('recover.needStake'));
  };
  const textOf = (): string => {
    if (action === 'recover') return t('recover.text', { date: day(subscription.current_period_end) });
    if (action !== 'returnDeposit') return t(`${action}.text`);
    const amount = formatMoney(staking?.amount ?? '0', currency, language);
    return staking?.return_at
      ? t('returnDeposit.text', { amount, date: day(staking.return_at) })
      : t('returnDeposit.textNow', { amount });
  };
  return (
    <ConfirmDialog
      title={t(`admin.${action}`)}
      action={t(`admin.${action}`)}
      failedTitle={t('failed')}
      run={run}
      onClose={onClose}
      onDone={onDone}
    >
      <p>{textOf()}</p>
    </ConfirmDialog>
  );
}

/** Refunds the last payment of the subscription, as far as it can be refunded. */
function RefundLast({ subscription: { id, customer_id: customerId } }: { subscription: Subscription }) {
  const { data: page } = useQuery(invoicesQuery(1, PAGE_SIZE, { subscriptionId: id, customerId }));
  // A deposit has its own actions, and the store never received the money of a top-up.
  const last = page?.list.find(
    ({ status, billing_reason: reason }) => status === 'paid' && !/stak|recharge/.test(reason),
  );
  const { data: invoice } = useQuery({ ...invoiceQuery(last?.id ?? ''), enabled: Boolean(last) });
  return invoice ? <RefundButton invoice={invoice} /> : null;
}
