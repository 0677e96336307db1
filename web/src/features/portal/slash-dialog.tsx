import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api } from '@/api/client';
import type { Subscription } from '@/api/types';
import { spokenError } from '@/i18n/spoken';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { TextField } from '@/kit/field';
import { formatMoney, parseDecimal } from '@/lib/amount';
import { type DialogProps, Failure } from './dialog-parts';
import styles from './dialogs.module.css';
import { movableStake } from './office-rules';
import { useOfficeTexts } from './office-text';
import { typedAmount } from './refund';
import { useTexts } from './texts';
import { amountFault } from './typed-amount';

const LONGEST_REASON = 500;

/** Takes a stake or a part of it: how much and why first, then the amount is agreed to by its name. */
export function SlashDialog({ subscription, onClose, onDone }: DialogProps) {
  const { t: portal } = useTexts();
  const { t, language } = useOfficeTexts();
  const { paymentCurrency: currency, customer } = subscription;
  const held = movableStake(subscription);
  const [amount, setAmount] = useState(typedAmount(held, currency.decimal));
  const [reason, setReason] = useState('');
  const [checked, setChecked] = useState(false);
  const [sure, setSure] = useState(false);
  const money = (units: string) => formatMoney(units, currency, language);
  const most = money(held.toString());
  const fault = amountFault(amount, currency.decimal, held);
  const taken = money(parseDecimal(amount, currency.decimal) ?? '0');
  const slash = useMutation({
    mutationFn: () =>
      api.put<Subscription>(`/api/subscriptions/${encodeURIComponent(subscription.id)}/slash-stake`, {
        amount: amount.trim(),
        reason: reason.trim(),
      }),
    onSuccess: () => onDone(),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (fault) document.getElementById('slash-amount')?.focus();
    else if (!reason.trim()) document.getElementById('slash-reason')?.focus();
    else setSure(true);
  };
  return (
    <Dialog
      title={sure ? t('slash.sureTitle', { amount: taken }) : t('slash.title')}
      closeLabel={portal('action.close')}
      onClose={onClose}
      locked={slash.isPending}
    >
      {sure ? (
        <div className={styles.form}>
          <Alert tone="warn">
            <p>{t('slash.sure', { amount: taken, name: customer.name || customer.did })}</p>
          </Alert>
          {slash.isError ? <Failure title={t('failed')} text={spokenError(slash.error)} /> : null}
          <div className={styles.buttons}>
            <Button onClick={() => setSure(false)} disabled={slash.isPending}>
              {portal('action.back')}
            </Button>
            <Button look="danger" busy={slash.isPending} onClick={() => slash.mutate()}>
              {t('slash.submit', { amount: taken })}
            </Button>
          </div>
        </div>
      ) : (
        <form className={styles.form} onSubmit={submit} noValidate>
          <p>{t('slash.text', { amount: most })}</p>
          <TextField
            id="slash-amount"
            name="amount"
            inputMode="decimal"
            autoComplete="off"
            label={t('slash.amount', { symbol: currency.symbol })}
            hint={t('slash.most', { amount: most })}
            error={checked && fault ? portal(`refund.${fault}`, { amount: most }) : undefined}
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
            required
          />
          <TextField
            id="slash-reason"
            name="reason"
            autoComplete="off"
            label={t('slash.reason')}
            hint={t('slash.reasonHint')}
            error={checked && !reason.trim() ? t('slash.reasonMissing') : undefined}
            maxLength={LONGEST_REASON}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
            required
          />
          <div className={styles.buttons}>
            <Button onClick={onClose}>{portal('action.cancel')}</Button>
            <Button type="submit" look="danger">
              {t('slash.next')}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
