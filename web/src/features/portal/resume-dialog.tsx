import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '@/api/client';
import type { Subscription } from '@/api/types';
import { openConnect } from '@/features/connect';
import { spokenError } from '@/i18n/spoken';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { formatMoney } from '@/lib/amount';
import { dayText } from '@/lib/format';
import { type DialogProps, Failure } from './dialog-parts';
import styles from './dialogs.module.css';
import { subscriptionName } from './price-text';
import { recoverQuery } from './queries';
import { useTexts } from './texts';

/** Takes a cancellation back. Where the stake was revoked meanwhile, the wallet is asked to stake again first. */
export function ResumeDialog({ subscription, onClose, onDone }: DialogProps) {
  const { t, language } = useTexts();
  const { data: info, error, refetch } = useQuery(recoverQuery(subscription.id));
  const [staking, setStaking] = useState(false);
  const id = encodeURIComponent(subscription.id);
  const stakeAgain = () => {
    setStaking(true);
    openConnect({
      action: 're-stake',
      title: t('resume.stakeTitle'),
      extraParams: { subscriptionId: subscription.id },
      onSuccess: () => onDone(),
      onClose: () => setStaking(false),
    });
  };
  const resume = useMutation({
    mutationFn: () => api.put<{ subscription: Subscription; needStake?: boolean }>(`/api/subscriptions/${id}/recover`),
    onSuccess: ({ needStake }) => (needStake ? stakeAgain() : onDone()),
  });
  const next = subscription.next_invoice;
  const date = dayText((info?.subscription.current_period_end ?? subscription.current_period_end) * 1000, language);
  return (
    <Dialog
      title={t('resume.title', { name: subscriptionName(subscription, { language }) })}
      closeLabel={t('action.close')}
      onClose={onClose}
      locked={resume.isPending || staking}
    >
      <div className={styles.form}>
        <p>
          {next
            ? t('resume.textFor', { date, amount: formatMoney(next.amount, subscription.paymentCurrency, language) })
            : t('resume.text', { date })}
        </p>
        {info?.needStake ? (
          <Alert tone="info">
            <p>{t('resume.needStake')}</p>
          </Alert>
        ) : null}
        {error ? <Failure title={t('resume.notKnown')} text={spokenError(error)} /> : null}
        {resume.isError ? <Failure title={t('resume.failed')} text={spokenError(resume.error)} /> : null}
        <div className={styles.buttons}>
          <Button onClick={onClose} disabled={resume.isPending || staking}>
            {t('action.close')}
          </Button>
          {error && !info ? (
            <Button look="primary" onClick={() => void refetch()}>
              {t('action.retry')}
            </Button>
          ) : (
            <Button
              look="primary"
              busy={!info || resume.isPending || staking}
              onClick={() => (info?.needStake ? stakeAgain() : resume.mutate())}
            >
              {info?.needStake ? t('resume.stake') : t('resume.action')}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}
