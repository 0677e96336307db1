import { useMutation } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { api } from '@/api/client';
import type { Subscription } from '@/api/types';
import { Dialog, ErrorAlert, Note, type SubscriptionDialogProps } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm } from '@/features/billing/form';
import { OptionList } from '@/features/billing/option-list';
import { subscriptionName } from '@/features/billing/price-text';
import { timeOf } from '@/features/billing/subscription-rules';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';
import { dateText } from '@/lib/format';

/** SPEC.md 3: the reasons of a cancellation. */
const REASONS = [
  'too_expensive',
  'missing_features',
  'switched_service',
  'unused',
  'customer_service',
  'too_complex',
  'low_quality',
  'other',
] as const;

const COMMENT_MAX = 500;

interface Values {
  feedback?: (typeof REASONS)[number];
  comment?: string;
}

type Consequence = 'trial' | 'atOnce' | 'pastDue' | 'paused' | 'text';

/** The consequences of a cancellation. A period may be over during a pause. */
function consequenceOf(subscription: Subscription): Consequence {
  const { status } = subscription;
  if (status === 'trialing') return 'trial';
  if (subscription.current_period_end <= timeOf(subscription)) return 'atOnce';
  return status === 'past_due' ? 'pastDue' : status === 'paused' ? 'paused' : 'text';
}

/** Shows the consequences and the date, offers an optional reason, and cancels. */
export function CancelDialog({ subscription, onClose, onDone }: SubscriptionDialogProps) {
  const { t, language } = useTexts();
  const consequence = consequenceOf(subscription);
  const date = dateText(subscription.current_period_end * 1000, language);
  const cancel = useMutation({
    mutationFn: ({ feedback, comment }: Values) =>
      api.put<Subscription>(`/api/subscriptions/${encodeURIComponent(subscription.id)}/cancel`, {
        at: 'current_period_end',
        refund: 'none',
        feedback,
        comment: comment?.trim() || undefined,
        cancel_from: 'customer',
      }),
    onSuccess: () => onDone(consequence === 'trial' || consequence === 'atOnce' ? 'cancel.doneNow' : undefined),
  });
  const action =
    consequence === 'trial' ? 'cancel.nowAction' : consequence === 'atOnce' ? 'cancel.atOnceAction' : 'cancel.action';
  return (
    <Dialog
      title={t('cancel.title', { name: subscriptionName(subscription, { language }) })}
      isBusy={cancel.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={cancel.isPending}>
            {t('cancel.keep')}
          </Button>
          <Button danger type="primary" htmlType="submit" form="cancel" loading={cancel.isPending}>
            {t(action)}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <Note type="warning" title={t(`cancel.${consequence}`, { date })} />
        <CheckedForm<Values> name="cancel" onFinish={(values) => cancel.mutate(values)}>
          <Form.Item<Values> name="feedback" label={t('cancel.why')}>
            <OptionList
              label={t('cancel.why')}
              options={REASONS.map((reason) => ({ value: reason, title: t(`cancel.reason.${reason}`) }))}
            />
          </Form.Item>
          <Form.Item<Values> name="comment" label={t('cancel.comment')}>
            <Input.TextArea maxLength={COMMENT_MAX} rows={3} />
          </Form.Item>
        </CheckedForm>
        {cancel.isError ? <ErrorAlert title={t('cancel.failed')} text={translateError(cancel.error)} /> : null}
      </div>
    </Dialog>
  );
}
