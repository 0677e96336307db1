import { useMutation, useQuery } from '@tanstack/react-query';
import { Alert, Button, Checkbox, Typography } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import { ApiError } from '@/api/error';
import type { PaymentChange, PlanPreview, Price, Subscription } from '@/api/types';
import { Dialog, ErrorAlert, Note, type SubscriptionDialogProps } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { planQuantity, priceText, productName } from '@/features/billing/price-text';
import { planPreviewQuery } from '@/features/billing/queries';
import { Loading } from '@/features/billing/states';
import { isPaidByAccount } from '@/features/billing/subscription-rules';
import { useTexts } from '@/features/billing/texts';
import { openConnect } from '@/features/connect';
import { translateError } from '@/i18n/translate';
import { formatMoney } from '@/lib/amount';
import { usePhone } from '@/lib/use-phone';
import { dueNow, PlanPreviewLines, requiresDeposit } from './plan-preview';

/** What the wallet has to sign before the plan changes. */
type WalletRequest = NonNullable<PaymentChange['connect']>;

interface ConfirmStepProps extends SubscriptionDialogProps {
  plan: Price;
  onBack: () => void;
}

/** Previews the cost of a change line by line and changes the plan at exactly this cost. */
export function ConfirmStep({ subscription, plan, onBack, onClose, onDone }: ConfirmStepProps) {
  const texts = useTexts();
  const { t } = texts;
  const phone = usePhone();
  const [confirmed, setConfirmed] = useState(false);
  const [hasChanged, setHasChanged] = useState(false);
  const [isSigning, setIsSigning] = useState(false);
  const { data: preview, error, isFetching, refetch } = useQuery(planPreviewQuery(subscription.id, plan.id));
  // Changed amounts need a new confirmation.
  const previewAgain = () => {
    setConfirmed(false);
    setHasChanged(true);
    void refetch();
  };
  // The store changes the plan as soon as the wallet has authorized its cost.
  const check = useMutation({
    mutationFn: () => api.get<Subscription>(`/api/subscriptions/${encodeURIComponent(subscription.id)}`),
    onSuccess: ({ items }) => (items.some(({ price_id: id }) => id === plan.id) ? onDone() : previewAgain()),
  });
  const sign = ({ action, extraParams }: WalletRequest) => {
    setIsSigning(true);
    openConnect({
      action,
      title: t('plan.connectTitle'),
      extraParams,
      onSuccess: () => {
        setIsSigning(false);
        check.mutate();
      },
      onClose: () => setIsSigning(false),
    });
  };
  const change = useMutation({
    mutationFn: ({ proration_date, total, credited }: PlanPreview) =>
      api.put<Subscription | { connect: WalletRequest }>(
        `/api/subscriptions/${encodeURIComponent(subscription.id)}/change-plan`,
        { price_id: plan.id, proration_date, expected_total: total, expected_credited: credited },
      ),
    onSuccess: (response) => ('connect' in response ? sign(response.connect) : onDone()),
    onError: (error) => {
      if (error instanceof ApiError && error.code === 'PREVIEW_CHANGED') previewAgain();
    },
  });
  const isBusy = change.isPending || isSigning || check.isPending;
  const due = preview ? dueNow(preview) : '0';
  const money = (amount: string) => formatMoney(amount, subscription.paymentCurrency, texts.language);
  const failed = change.isError && !(change.error instanceof ApiError && change.error.code === 'PREVIEW_CHANGED');
  return (
    <Dialog
      title={t('plan.previewTitle')}
      isBusy={isBusy}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onBack} disabled={isBusy}>
            {t('action.back')}
          </Button>
          {error && !preview ? (
            <Button type="primary" onClick={() => void refetch()}>
              {t('action.retry')}
            </Button>
          ) : (
            <Button
              type="primary"
              loading={!preview || isFetching || isBusy}
              disabled={!confirmed}
              onClick={() => preview && change.mutate(preview)}
            >
              {due === '0' ? t('plan.action') : t('plan.payAction', { amount: money(due) })}
            </Button>
          )}
        </>
      }
    >
      <div className={styles.body}>
        <p>
          {t('plan.chosen', { name: productName(plan, texts) })}
          <strong className="money">
            {priceText(plan, subscription.paymentCurrency, texts, planQuantity(subscription, plan))}
          </strong>
        </p>
        {error ? <ErrorAlert title={t('plan.notPreviewed')} text={translateError(error)} /> : null}
        {hasChanged ? (
          <Alert type="warning" showIcon title={t('plan.changed')} description={t('plan.changedText')} />
        ) : null}
        {preview ? (
          <>
            <PlanPreviewLines preview={preview} currency={subscription.paymentCurrency} isLoading={isFetching} />
            <Checkbox checked={confirmed} onChange={(event) => setConfirmed(event.target.checked)}>
              {t(due === '0' ? 'plan.consentFree' : 'plan.consent')}
            </Checkbox>
            {isPaidByAccount(subscription) ? (
              <Typography.Text type="secondary">
                {t(requiresDeposit(preview) ? 'plan.permissionStake' : 'plan.permission')}
              </Typography.Text>
            ) : null}
          </>
        ) : error ? null : (
          <Loading rows={phone ? 11 : 8} />
        )}
        {isSigning ? <Note type="info" title={t('plan.connectText')} /> : null}
        {failed ? <ErrorAlert title={t('plan.failed')} text={translateError(change.error)} /> : null}
        {check.isError ? <ErrorAlert title={t('plan.failed')} text={translateError(check.error)} /> : null}
      </div>
    </Dialog>
  );
}
