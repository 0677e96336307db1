import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { api, idempotencyKey } from '@/api/client';
import type { InvoiceDetail, Refund } from '@/api/types';
import { spokenError } from '@/i18n/spoken';
import { announce } from '@/kit/announce';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { TextField } from '@/kit/field';
import { RadioCards } from '@/kit/radio-cards';
import { formatMoney, parseDecimal } from '@/lib/amount';
import { Failure } from './dialog-parts';
import styles from './dialogs.module.css';
import { refreshAfterPayment } from './refresh';
import { REFUND_REASONS, type RefundReason, typedAmount } from './refund';
import { useTexts } from './texts';
import { amountFault } from './typed-amount';

interface RefundDialogProps {
  invoice: InvoiceDetail;
  /** What can still be given back, in base units. */
  most: bigint;
  /** What cannot, of what is left. */
  kept: bigint;
  onClose: () => void;
}

/** Gives back what an invoice was paid with, or a part of it: how much, why, and a word that the customer reads. */
export function RefundDialog({ invoice, most, kept, onClose }: RefundDialogProps) {
  const { t, language } = useTexts();
  const { paymentCurrency: currency, paymentIntent: payment } = invoice;
  const [amount, setAmount] = useState(typedAmount(most, currency.decimal));
  const [reason, setReason] = useState<RefundReason>('requested_by_customer');
  const [description, setDescription] = useState('');
  const [checked, setChecked] = useState(false);
  const fault = amountFault(amount, currency.decimal, most);
  const money = (units: string) => formatMoney(units, currency, language);
  const hints = [t('refund.most', { amount: money(most.toString()) })];
  if (kept > 0n) hints.push(t('refund.kept', { amount: money(kept.toString()) }));
  const body = {
    payment_intent_id: payment?.id,
    invoice_id: invoice.id,
    amount: amount.trim(),
    reason,
    description: description.trim() || undefined,
  };
  const key = useAttemptKey(JSON.stringify(body));
  const refund = useMutation({
    mutationFn: () => api.post<Refund>('/api/refunds', body, { idempotencyKey: key }),
    onSuccess: async ({ type, status }) => {
      await refreshAfterPayment();
      // A dialog that is still there would take the words with it.
      flushSync(onClose);
      announce(t(type === 'credit' && status === 'succeeded' ? 'refund.doneCredit' : 'refund.done'));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (fault) document.getElementById('refund-amount')?.focus();
    else refund.mutate();
  };
  return (
    <Dialog
      title={t('refund.title', { number: invoice.number || invoice.id })}
      closeLabel={t('action.close')}
      onClose={onClose}
      locked={refund.isPending}
    >
      <form className={styles.form} onSubmit={submit} noValidate>
        <p>{t('refund.text')}</p>
        <TextField
          id="refund-amount"
          name="amount"
          inputMode="decimal"
          autoComplete="off"
          label={t('refund.amount', { symbol: currency.symbol })}
          hint={hints.join(language === 'zh' ? '' : ' ')}
          error={checked && fault ? t(`refund.${fault}`, { amount: money(most.toString()) }) : undefined}
          value={amount}
          onChange={(event) => setAmount(event.target.value)}
          required
        />
        <RadioCards
          name="reason"
          legend={t('refund.why')}
          cards={REFUND_REASONS.map((value) => ({ value, title: t(`refund.reason.${value}`) }))}
          value={reason}
          onChange={(value) => setReason(value as RefundReason)}
        />
        <TextField
          id="refund-description"
          name="description"
          autoComplete="off"
          label={t('refund.description')}
          optional={t('profile.optional')}
          hint={t('refund.descriptionHint')}
          maxLength={500}
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
        {refund.isError ? <Failure title={t('refund.failed')} text={spokenError(refund.error)} /> : null}
        <div className={styles.buttons}>
          <Button onClick={onClose} disabled={refund.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="submit" look="danger" busy={refund.isPending}>
            {fault
              ? t('refund.action')
              : t('refund.actionFor', { amount: money(parseDecimal(amount, currency.decimal) ?? '0') })}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** One for each thing that is asked for: whoever presses again because no answer came does not give back twice. */
function useAttemptKey(asked: string): string {
  const attempt = useRef({ asked, key: idempotencyKey() });
  if (attempt.current.asked !== asked) attempt.current = { asked, key: idempotencyKey() };
  return attempt.current.key;
}
