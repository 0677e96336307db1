import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '@/api/client';
import type { Subscription } from '@/api/types';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { formatMoney } from '@/lib/amount';
import { dayText } from '@/lib/format';
import { ConfirmDialog } from './confirm-dialog';
import { OfficeCancelDialog } from './office-cancel-dialog';
import { type OfficeAction, officeActions } from './office-rules';
import { type OfficeTexts, useOfficeTexts } from './office-text';
import { invoiceQuery, invoicesQuery, PAGE_SIZE } from './queries';
import { refreshAfterPayment } from './refresh';
import { GiveBack } from './refunds';
import { SlashDialog } from './slash-dialog';
import styles from './subscription-page.module.css';

/** What the store does with the subscription of a customer, in the store's name; nothing of it needs their wallet. */
export default function OfficeActions({ subscription }: { subscription: Subscription }) {
  const { t } = useOfficeTexts();
  const [open, setOpen] = useState<OfficeAction | null>(null);
  const [done, setDone] = useState<OfficeAction | null>(null);
  const close = () => setOpen(null);
  const finish = async () => {
    await refreshAfterPayment();
    setDone(open);
    setOpen(null);
  };
  const dialog = { subscription, onClose: close, onDone: () => void finish() };
  const { customer } = subscription;
  return (
    <section aria-labelledby="office" className={styles.office}>
      <h2 id="office">{t('title')}</h2>
      <p>{t('who', { name: [customer.name, customer.email].filter(Boolean).join(' · ') || customer.did })}</p>
      {subscription.parked ? (
        <Alert tone="danger" title={t('parked.title')}>
          <p>{parkedText(subscription, t)}</p>
          <p>{t('parked.text')}</p>
        </Alert>
      ) : null}
      <div role="status" className={styles.done}>
        {done ? (
          <Alert tone="ok">
            <p>{t(`done.${done}`)}</p>
          </Alert>
        ) : null}
      </div>
      <div className={styles.actions}>
        {officeActions(subscription).map((action) => (
          <Button
            key={action}
            look={
              action === 'unpark' || action === 'resume'
                ? 'primary'
                : action === 'slash' || action === 'cancel'
                  ? 'danger'
                  : 'secondary'
            }
            onClick={() => {
              setDone(null);
              setOpen(action);
            }}
          >
            {t(`action.${action}`)}
          </Button>
        ))}
        <GiveBackLast subscription={subscription} />
      </div>
      {open === 'cancel' ? (
        <OfficeCancelDialog {...dialog} />
      ) : open === 'slash' ? (
        <SlashDialog {...dialog} />
      ) : open ? (
        <Confirm action={open} {...dialog} />
      ) : null}
    </section>
  );
}

/** Why the engine has stopped with it. */
function parkedText({ parked_reason: reason, paymentCurrency, paymentMethod }: Subscription, t: OfficeTexts['t']) {
  return t(`parked.${reason ?? 'other'}`, { symbol: paymentCurrency.symbol, method: paymentMethod.name });
}

const VERBS = { unpark: 'unpark', resume: 'resume', pause: 'pause', recover: 'recover', returnStake: 'return-stake' };

interface ConfirmProps {
  action: keyof typeof VERBS;
  subscription: Subscription;
  onClose: () => void;
  onDone: () => void;
}

/** What needs no more than a yes. */
function Confirm({ action, subscription, onClose, onDone }: ConfirmProps) {
  const { t, language } = useOfficeTexts();
  const { staking, paymentCurrency: currency } = subscription;
  const day = (at: number) => dayText(at * 1000, language);
  const run = async () => {
    const path = `/api/subscriptions/${encodeURIComponent(subscription.id)}/${VERBS[action]}`;
    const answer = await api.put<{ needStake?: boolean } | null>(path);
    // Nothing has changed then.
    if (action === 'recover' && answer?.needStake) throw new Error(t('recover.needStake'));
  };
  const texts: Record<typeof action, () => ReactNode> = {
    unpark: () => t('unpark.text'),
    resume: () => t('resume.text'),
    pause: () => t('pause.text'),
    recover: () => t('recover.text', { date: day(subscription.current_period_end) }),
    returnStake: () => {
      const amount = formatMoney(staking?.amount ?? '0', currency, language);
      return staking?.return_at
        ? t('returnStake.text', { amount, date: day(staking.return_at) })
        : t('returnStake.textNow', { amount });
    },
  };
  return (
    <ConfirmDialog
      title={t(`action.${action}`)}
      action={t(`action.${action}`)}
      failedTitle={t('failed')}
      run={run}
      onClose={onClose}
      onDone={onDone}
    >
      <p>{texts[action]()}</p>
    </ConfirmDialog>
  );
}

/** The last payment for the subscription, as far as something of it is left to give back. */
function GiveBackLast({ subscription: { id, customer_id: customerId } }: { subscription: Subscription }) {
  const { data: page } = useQuery(invoicesQuery(1, PAGE_SIZE, { subscriptionId: id, customerId }));
  // A stake is no payment: it has actions of its own. Nor are funds that were added: the store never got them.
  const last = page?.list.find(
    ({ status, billing_reason: reason }) => status === 'paid' && !/stak|recharge/.test(reason),
  );
  const { data: invoice } = useQuery({ ...invoiceQuery(last?.id ?? ''), enabled: Boolean(last) });
  return invoice ? <GiveBack invoice={invoice} /> : null;
}
