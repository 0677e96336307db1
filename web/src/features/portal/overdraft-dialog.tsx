import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import type { OverdraftProtection } from '@/api/types';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
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
  const [isEnding, setIsEnding] = useState(false);
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
  const money = (amount: string) => formatMoney(amount, subscription.paymentCurrency, language);
  if (isEnding && data) {
    return (
      <ConfirmDialog
        title={t('overdraft.offTitle')}
        action={t('overdraft.off')}
        failedTitle={t('overdraft.failed')}
        run={() =>
          api.delete<OverdraftProtection>(
            `/api/subscriptions/${encodeURIComponent(subscription.id)}/overdraft-protection`,
          )
        }
        onClose={() => setIsEnding(false)}
        onDone={() => onDone('overdraft.doneOff')}
      >
        <p>{t('overdraft.offText', { amount: money(data.available) })}</p>
      </ConfirmDialog>
    );
  }
  return (
    <Dialog
      title={t('overdraft.title')}
      isBusy={isSigning}
      onClose={onClose}
      footer={
        error ? (
          <Button type="primary" onClick={() => void refetch()}>
            {t('action.retry')}
          </Button>
        ) : (
          <>
            <Button onClick={onClose} disabled={isSigning}>
              {t('action.close')}
            </Button>
            {data?.enabled ? (
              <Button disabled={isSigning} onClick={() => setIsEnding(true)}>
                {t('overdraft.off')}
              </Button>
            ) : null}
            {data && !data.sufficient ? (
              <Button type="primary" loading={isSigning} onClick={stake}>
                {data.enabled ? t('overdraft.topUp') : t('overdraft.on', { amount: money(data.required) })}
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
        </div>
      ) : (
        <Loading />
      )}
    </Dialog>
  );
}
