import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api } from '@/api/client';
import type { Subscription } from '@/api/types';
import { spokenError } from '@/i18n/spoken';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { RadioCards } from '@/kit/radio-cards';
import { dayText } from '@/lib/format';
import { type DialogProps, Failure } from './dialog-parts';
import styles from './dialogs.module.css';
import { subscriptionName } from './price-text';
import { timeOf } from './subscription-rules';
import { useTexts } from './texts';

/** SPEC.md 3: why a subscription is cancelled. */
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

const LONGEST_COMMENT = 500;

/** Says what will happen and when, asks why, and cancels: at the period's end, a trial at once. */
export function CancelDialog({ subscription, onClose, onDone }: DialogProps) {
  const { t, language } = useTexts();
  const [feedback, setFeedback] = useState('');
  const [comment, setComment] = useState('');
  const [missing, setMissing] = useState(false);
  const trial = subscription.status === 'trialing';
  const paused = subscription.status === 'paused';
  // A pause may outlast the period.
  const over = !trial && subscription.current_period_end <= timeOf(subscription);
  const date = dayText(subscription.current_period_end * 1000, language);
  const cancel = useMutation({
    mutationFn: () =>
      api.put<Subscription>(`/api/subscriptions/${encodeURIComponent(subscription.id)}/cancel`, {
        at: 'current_period_end',
        refund: 'none',
        feedback,
        comment: comment.trim() || undefined,
        cancel_from: 'customer',
      }),
    onSuccess: () => onDone(),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setMissing(!feedback);
    if (feedback) cancel.mutate();
    else document.querySelector<HTMLInputElement>('input[name="feedback"]')?.focus();
  };
  return (
    <Dialog
      title={t('cancel.title', { name: subscriptionName(subscription, { language }) })}
      closeLabel={t('action.close')}
      onClose={onClose}
      locked={cancel.isPending}
    >
      <form className={styles.form} onSubmit={submit} noValidate>
        <Alert tone="warn">
          <p>
            {t(trial ? 'cancel.trial' : over ? 'cancel.atOnce' : paused ? 'cancel.paused' : 'cancel.text', { date })}
          </p>
        </Alert>
        <RadioCards
          name="feedback"
          legend={t('cancel.why')}
          cards={REASONS.map((reason) => ({ value: reason, title: t(`cancel.reason.${reason}`) }))}
          value={feedback}
          onChange={(value) => {
            setFeedback(value);
            setMissing(false);
          }}
        />
        <p role="alert" className={styles.error} hidden={!missing}>
          {missing ? t('cancel.whyMissing') : ''}
        </p>
        <div className="k-field">
          <label htmlFor="cancel-comment">
            {t('cancel.comment')} <span className="k-optional">{t('profile.optional')}</span>
          </label>
          <textarea
            id="cancel-comment"
            className={`k-input ${styles.comment}`}
            rows={3}
            maxLength={LONGEST_COMMENT}
            value={comment}
            onChange={(event) => setComment(event.target.value)}
          />
        </div>
        {cancel.isError ? <Failure title={t('cancel.failed')} text={spokenError(cancel.error)} /> : null}
        <div className={styles.buttons}>
          <Button onClick={onClose} disabled={cancel.isPending}>
            {t('cancel.keep')}
          </Button>
          <Button type="submit" look="danger" busy={cancel.isPending}>
            {t(trial ? 'cancel.nowAction' : over ? 'cancel.atOnceAction' : 'cancel.action')}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
