import { useMutation, useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import type { Subscription } from '@/api/types';
import { Dialog, ErrorAlert, Note, type SubscriptionDialogProps } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { planText, subscriptionName } from '@/features/billing/price-text';
import { recoverQuery } from '@/features/billing/queries';
import { useTexts } from '@/features/billing/texts';
import { openConnect } from '@/features/connect';
import { translateError } from '@/i18n/translate';
import { dateText } from '@/lib/format';

/** Undoes a cancellation. If the deposit was withdrawn meanwhile, the wallet has to stake a new one first. */
export function ResumeDialog({ subscription, onClose, onDone }: SubscriptionDialogProps) {
  const texts = useTexts();
  const { t, language } = texts;
  const { data: info, error, refetch } = useQuery(recoverQuery(subscription.id));
  const [isStaking, setIsStaking] = useState(false);
  const id = encodeURIComponent(subscription.id);
  const stakeAgain = () => {
    setIsStaking(true);
    openConnect({
      action: 're-stake',
      title: t('resume.stakeTitle'),
      extraParams: { subscriptionId: subscription.id },
      onSuccess: () => onDone(),
      onClose: () => setIsStaking(false),
    });
  };
  const resume = useMutation({
    mutationFn: () => api.put<{ subscription: Subscription; needStake?: boolean }>(`/api/subscriptions/${id}/recover`),
    onSuccess: ({ needStake }) => (needStake ? stakeAgain() : onDone()),
  });
  const isBusy = resume.isPending || isStaking;
  const date = dateText((info?.subscription.current_period_end ?? subscription.current_period_end) * 1000, language);
  return (
    <Dialog
      title={t('resume.title', { name: subscriptionName(subscription, { language }) })}
      isBusy={isBusy}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={isBusy}>
            {t('action.cancel')}
          </Button>
          {error && !info ? (
            <Button type="primary" onClick={() => void refetch()}>
              {t('action.retry')}
            </Button>
          ) : (
            <Button
              type="primary"
              loading={!info || isBusy}
              onClick={() => (info?.needStake ? stakeAgain() : resume.mutate())}
            >
              {info?.needStake ? t('resume.stake') : t('resume.action')}
            </Button>
          )}
        </>
      }
    >
      <div className={styles.body}>
        <p>{t('resume.text', { date, amount: planText(subscription, texts) })}</p>
        {info?.needStake ? <Note type="info" title={t('resume.needStake')} /> : null}
        {error ? <ErrorAlert title={t('resume.notKnown')} text={translateError(error)} /> : null}
        {resume.isError ? <ErrorAlert title={t('resume.failed')} text={translateError(resume.error)} /> : null}
      </div>
    </Dialog>
  );
}
