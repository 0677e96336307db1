import { useMutation, useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import type { OverdraftProtection } from '@/api/types';
import { Dialog, ErrorAlert, type SubscriptionDialogProps } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { overdraftQuery } from '@/features/billing/queries';
import { Loading } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { openConnect } from '@/features/connect';
import { translateError } from '@/i18n/translate';
import { formatMoney } from '@/lib/amount';

/** Switches the overdraft protection on or off, and tops up its deposit. */
export function OverdraftDialog({ subscription, onClose, onDone }: SubscriptionDialogProps) {
  const { t, language } = useTexts();
  const { data, error, refetch } = useQuery(overdraftQuery(subscription.id));
  const [isSigning, setIsSigning] = useState(false);
  const path = `/api/subscriptions/${encodeURIComponent(subscription.id)}/overdraft-protection`;
  const end = useMutation({
    mutationFn: () => api.delete<OverdraftProtection>(path),
    onSuccess: () => onDone('overdraft.doneOff'),
  });
  const stake = () => {
    setIsSigning(true);
    openConnect({
      action: 'overdraft-protection',
      title: t('overdraft.title'),
      failedTitle: t('overdraft.failed'),
      extraParams: { subscriptionId: subscription.id },
      onSuccess: () => onDone(),
      onClose: () => setIsSigning(false),
    });
  };
  const isBusy = isSigning || end.isPending;
  const money = (amount: string) => formatMoney(amount, subscription.paymentCurrency, language);
  return (
    <Dialog
      title={t('overdraft.title')}
      isBusy={isBusy}
      onClose={onClose}
      footer={
        error ? (
          <Button type="primary" onClick={() => void refetch()}>
            {t('action.retry')}
          </Button>
        ) : (
          <>
            <Button onClick={onClose} disabled={isBusy}>
              {t('action.close')}
            </Button>
            {data?.enabled ? (
              <Button loading={end.isPending} disabled={isSigning} onClick={() => end.mutate()}>
                {t('overdraft.off')}
              </Button>
            ) : null}
            {data && !data.sufficient ? (
              <Button type="primary" loading={isSigning} disabled={end.isPending} onClick={stake}>
                {t(data.enabled ? 'overdraft.topUp' : 'overdraft.on')}
              </Button>
            ) : null}
          </>
        )
      }
    >
      {error ? (
        <ErrorAlert title={t('overdraft.error')} text={translateError(error)} />
      ) : data ? (
        <div className={styles.body}>
          <p>{t('overdraft.text', { fee: money(data.fee) })}</p>
          <p>
            {data.enabled
              ? t('overdraft.held', { amount: money(data.available) })
              : t('overdraft.required', { amount: money(data.required) })}
          </p>
          {data.enabled && !data.sufficient ? <p>{t('overdraft.low', { amount: money(data.required) })}</p> : null}
          {end.isError ? <ErrorAlert title={t('overdraft.failed')} text={translateError(end.error)} /> : null}
        </div>
      ) : (
        <Loading />
      )}
    </Dialog>
  );
}
