import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api } from '@/api/client';
import type { Subscription } from '@/api/types';
import { spokenError } from '@/i18n/spoken';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { TextField } from '@/kit/field';
import { RadioCards } from '@/kit/radio-cards';
import { formatMoney } from '@/lib/amount';
import { dayText, localInput } from '@/lib/format';
import { type DialogProps, Failure } from './dialog-parts';
import styles from './dialogs.module.css';
import { type CancelAt, cancelTimes, movableStake } from './office-rules';
import { useOfficeTexts } from './office-text';
import { subscriptionName } from './price-text';
import { timeOf } from './subscription-rules';
import { useTexts } from './texts';

const REFUNDS = ['none', 'proration', 'last'] as const;
const STAKES = ['none', 'proration', 'slash'] as const;
const LONGEST_REASON = 500;

/** The store ends a subscription: when, and where that is now, what becomes of the last payment and of the stake. */
export function OfficeCancelDialog({ subscription, onClose, onDone }: DialogProps) {
  const { t: portal } = useTexts();
  const { t, language } = useOfficeTexts();
  const times = cancelTimes(subscription);
  const now = timeOf(subscription);
  const [at, setAt] = useState<CancelAt>(times[0] ?? 'now');
  const [time, setTime] = useState('');
  const [refund, setRefund] = useState<(typeof REFUNDS)[number]>('none');
  const [stake, setStake] = useState<(typeof STAKES)[number]>('none');
  const [reason, setReason] = useState('');
  const [checked, setChecked] = useState(false);
  const seconds = Math.floor(new Date(time).getTime() / 1000);
  const early = at === 'custom' && !(seconds > now);
  const held = movableStake(subscription);
  const amount = formatMoney(held.toString(), subscription.paymentCurrency, language);
  const ends = at === 'now';
  const slashing = ends && held > 0n && stake === 'slash';
  const unexplained = slashing && !reason.trim();
  const cancel = useMutation({
    mutationFn: () =>
      api.put<Subscription>(`/api/subscriptions/${encodeURIComponent(subscription.id)}/cancel`, {
        at,
        time: at === 'custom' ? seconds : undefined,
        refund: ends ? refund : 'none',
        staking: ends && held > 0n ? stake : 'none',
        slashReason: slashing ? reason.trim() : undefined,
        comment: reason.trim() || undefined,
      }),
    onSuccess: () => onDone(),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (early) document.getElementById('office-time')?.focus();
    else if (unexplained) document.getElementById('office-reason')?.focus();
    else cancel.mutate();
  };
  const date = dayText(subscription.current_period_end * 1000, language);
  return (
    <Dialog
      title={t('cancel.title', { name: subscriptionName(subscription, { language }) })}
      closeLabel={portal('action.close')}
      onClose={onClose}
      locked={cancel.isPending}
    >
      <form className={styles.form} onSubmit={submit} noValidate>
        <RadioCards
          name="at"
          legend={t('cancel.when')}
          cards={times.map((value) => ({
            value,
            title: t(`cancel.at.${value}`),
            detail: t(`cancel.at.${value}Detail`, { date }),
          }))}
          value={at}
          onChange={(value) => setAt(value as CancelAt)}
        />
        {at === 'custom' ? (
          <TextField
            id="office-time"
            name="time"
            type="datetime-local"
            label={t('cancel.time')}
            error={checked && early ? t('cancel.timeWrong') : undefined}
            min={localInput(now)}
            value={time}
            onChange={(event) => setTime(event.target.value)}
            required
          />
        ) : null}
        {ends && subscription.status !== 'trialing' ? (
          <RadioCards
            name="refund"
            legend={t('cancel.refund')}
            cards={REFUNDS.map((value) => ({ value, title: t(`cancel.refund.${value}`) }))}
            value={refund}
            onChange={(value) => setRefund(value as typeof refund)}
          />
        ) : null}
        {ends && held > 0n ? (
          <RadioCards
            name="stake"
            legend={t('cancel.stake', { amount })}
            cards={STAKES.map((value) => ({ value, title: t(`cancel.stake.${value}`) }))}
            value={stake}
            onChange={(value) => setStake(value as typeof stake)}
          />
        ) : null}
        <TextField
          id="office-reason"
          name="reason"
          autoComplete="off"
          label={slashing ? t('slash.reason') : t('cancel.reason')}
          optional={slashing ? undefined : portal('profile.optional')}
          hint={slashing ? t('slash.reasonHint') : t('cancel.reasonHint')}
          error={checked && unexplained ? t('slash.reasonMissing') : undefined}
          maxLength={LONGEST_REASON}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          required={slashing}
        />
        {cancel.isError ? <Failure title={portal('cancel.failed')} text={spokenError(cancel.error)} /> : null}
        <div className={styles.buttons}>
          <Button onClick={onClose} disabled={cancel.isPending}>
            {t('cancel.back')}
          </Button>
          <Button type="submit" look="danger" busy={cancel.isPending}>
            {slashing ? t('cancel.submit.slash', { amount }) : t(`cancel.submit.${at}`)}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
