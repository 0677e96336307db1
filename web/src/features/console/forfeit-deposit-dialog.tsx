import { useMutation } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import type { Subscription } from '@/api/types';
import { Dialog, ErrorAlert, Note, type SubscriptionDialogProps } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { amountError, typedAmount } from '@/features/billing/typed-amount';
import { translateError } from '@/i18n/translate';
import { formatMoney, parseDecimal } from '@/lib/amount';
import { movableDeposit } from './admin-rules';
import { useAdminTexts } from './admin-texts';

const REASON_MAX = 500;

interface Values {
  amount: string;
  reason: string;
}

/** Forfeits a deposit or a part of it: first the amount and the reason, then a confirmation that names the amount. */
export function ForfeitDepositDialog({ subscription, onClose, onDone }: SubscriptionDialogProps) {
  const { t, language } = useAdminTexts();
  const { paymentCurrency: currency, customer } = subscription;
  const deposit = movableDeposit(subscription);
  const [entered, setEntered] = useState<Values>({ amount: typedAmount(deposit, currency.decimal), reason: '' });
  const [isConfirming, setIsConfirming] = useState(false);
  const money = (units: string) => formatMoney(units, currency, language);
  const maximum = { amount: money(deposit.toString()) };
  const amount = money(parseDecimal(entered.amount, currency.decimal) ?? '0');
  const errorOf = (text: string) => amountError(text, currency.decimal, deposit);
  const forfeit = useMutation({
    mutationFn: () =>
      api.put<Subscription>(`/api/subscriptions/${encodeURIComponent(subscription.id)}/slash-stake`, {
        amount: entered.amount.trim(),
        reason: entered.reason.trim(),
      }),
    onSuccess: () => onDone(),
  });
  if (isConfirming) {
    return (
      <Dialog
        title={t('forfeit.sureTitle', { amount })}
        isBusy={forfeit.isPending}
        onClose={onClose}
        footer={
          <>
            <Button onClick={() => setIsConfirming(false)} disabled={forfeit.isPending}>
              {t('action.back')}
            </Button>
            <Button danger type="primary" loading={forfeit.isPending} onClick={() => forfeit.mutate()}>
              {t('forfeit.submit', { amount })}
            </Button>
          </>
        }
      >
        <div className={styles.body}>
          <Note type="warning" title={t('forfeit.sure', { amount, name: customer.name || customer.did })} />
          {forfeit.isError ? <ErrorAlert title={t('failed')} text={translateError(forfeit.error)} /> : null}
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog
      title={t('forfeit.title')}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button danger type="primary" htmlType="submit" form="forfeit">
            {t('action.continue')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{t('forfeit.text', maximum)}</p>
        <CheckedForm<Values>
          name="forfeit"
          initialValues={entered}
          onFinish={(values) => {
            setEntered(values);
            setIsConfirming(true);
          }}
        >
          <Form.Item<Values>
            name="amount"
            label={t('forfeit.amount', { symbol: currency.symbol })}
            extra={t('forfeit.most', maximum)}
            rules={[
              rule((text: string) => errorOf(text) !== 'amountWrong', t('forfeit.amountWrong')),
              rule((text: string) => errorOf(text) !== 'amountMost', t('forfeit.amountMost', maximum)),
            ]}
          >
            <Input inputMode="decimal" autoComplete="off" />
          </Form.Item>
          <Form.Item<Values>
            name="reason"
            label={t('forfeit.reason')}
            extra={t('forfeit.reasonHint')}
            rules={[rule((text: string) => Boolean(text?.trim()), t('forfeit.reasonMissing'))]}
          >
            <Input autoComplete="off" maxLength={REASON_MAX} />
          </Form.Item>
        </CheckedForm>
      </div>
    </Dialog>
  );
}
