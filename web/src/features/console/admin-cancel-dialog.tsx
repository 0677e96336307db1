import { useMutation } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import dayjs, { type Dayjs } from 'dayjs';
import { api } from '@/api/client';
import type { Subscription } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { DateTimeField } from '@/features/billing/date-time-field';
import { Dialog, type SubscriptionDialogProps } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { OptionList } from '@/features/billing/option-list';
import { subscriptionName } from '@/features/billing/price-text';
import { timeOf } from '@/features/billing/subscription-rules';
import { formatMoney } from '@/lib/amount';
import { dateText } from '@/lib/format';
import { type CancelAt, cancelTimes, movableDeposit } from './admin-rules';
import { useAdminTexts } from './admin-texts';

const REFUNDS = ['none', 'proration', 'last'] as const;
const DEPOSITS = ['none', 'proration', 'slash'] as const;
const REASON_MAX = 500;

interface Values {
  at: CancelAt;
  time?: Dayjs;
  refund: (typeof REFUNDS)[number];
  deposit: (typeof DEPOSITS)[number];
  reason: string;
}

/**
 * Cancels a subscription as an administrator: when and, if that is now, what happens to the last payment and the
 * deposit.
 */
export function AdminCancelDialog({ subscription, onClose, onDone }: SubscriptionDialogProps) {
  const { t, language } = useAdminTexts();
  const times = cancelTimes(subscription);
  const now = timeOf(subscription);
  const deposit = movableDeposit(subscription);
  const amount = formatMoney(deposit.toString(), subscription.paymentCurrency, language);
  const date = dateText(subscription.current_period_end * 1000, language);
  const [form] = Form.useForm<Values>();
  const initial: Values = { at: times[0] ?? 'now', refund: 'none', deposit: 'none', reason: '' };
  const chosen = { ...initial, ...Form.useWatch([], form) };
  const endsNow = chosen.at === 'now';
  const isForfeited = endsNow && deposit > 0n && chosen.deposit === 'slash';
  const cancel = useMutation({
    mutationFn: ({ at, time, reason }: Values) =>
      api.put<Subscription>(`/api/subscriptions/${encodeURIComponent(subscription.id)}/cancel`, {
        at,
        time: at === 'custom' ? time?.unix() : undefined,
        refund: endsNow ? chosen.refund : 'none',
        staking: endsNow && deposit > 0n ? chosen.deposit : 'none',
        slashReason: isForfeited ? reason.trim() : undefined,
        comment: reason.trim() || undefined,
      }),
    onSuccess: () => onDone(),
  });
  return (
    <Dialog
      title={t('cancel.title', { name: subscriptionName(subscription, { language }) })}
      isBusy={cancel.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={cancel.isPending}>
            {t('cancel.back')}
          </Button>
          <Button danger type="primary" htmlType="submit" form="adminCancel" loading={cancel.isPending}>
            {isForfeited ? t('cancel.submit.forfeit', { amount }) : t(`cancel.submit.${chosen.at}`)}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <CheckedForm<Values>
          name="adminCancel"
          form={form}
          initialValues={initial}
          onFinish={(values) => cancel.mutate(values)}
        >
          <Form.Item<Values> name="at" label={t('cancel.when')}>
            <OptionList
              label={t('cancel.when')}
              options={times.map((value) => ({
                value,
                title: t(`cancel.at.${value}`),
                detail: t(`cancel.at.${value}Detail`, { date }),
              }))}
            />
          </Form.Item>
          {chosen.at === 'custom' ? (
            <Form.Item<Values>
              name="time"
              label={t('cancel.time')}
              rules={[rule((time: Dayjs | undefined) => (time?.unix() ?? 0) > now, t('cancel.timeWrong'))]}
            >
              <DateTimeField from={now} minDate={dayjs.unix(now).startOf('day')} style={{ width: '100%' }} />
            </Form.Item>
          ) : null}
          {endsNow && subscription.status !== 'trialing' ? (
            <Form.Item<Values> name="refund" label={t('cancel.refund')}>
              <OptionList
                label={t('cancel.refund')}
                options={REFUNDS.map((value) => ({ value, title: t(`cancel.refund.${value}`) }))}
              />
            </Form.Item>
          ) : null}
          {endsNow && deposit > 0n ? (
            <Form.Item<Values> name="deposit" label={t('cancel.stake', { amount })}>
              <OptionList
                label={t('cancel.stake', { amount })}
                options={DEPOSITS.map((value) => ({ value, title: t(`cancel.stake.${value}`) }))}
              />
            </Form.Item>
          ) : null}
          <Form.Item<Values>
            name="reason"
            label={isForfeited ? t('forfeit.reason') : t('optional', { name: t('cancel.reason') })}
            extra={isForfeited ? t('forfeit.reasonHint') : t('cancel.reasonHint')}
            rules={[rule((text: string) => !isForfeited || Boolean(text?.trim()), t('forfeit.reasonMissing'))]}
          >
            <Input autoComplete="off" maxLength={REASON_MAX} />
          </Form.Item>
        </CheckedForm>
        <ActionError title={t('cancel.failed')} action={cancel} />
      </div>
    </Dialog>
  );
}
