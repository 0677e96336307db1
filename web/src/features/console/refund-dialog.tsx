import { useMutation } from '@tanstack/react-query';
import { Button, Checkbox, Form, Input } from 'antd';
import { flushSync } from 'react-dom';
import { api } from '@/api/client';
import type { CreditNote, InvoiceDetail } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { OptionList } from '@/features/billing/option-list';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { amountError, typedAmount } from '@/features/billing/typed-amount';
import { announce } from '@/kit/announce';
import { formatMoney, parseDecimal, toUnits } from '@/lib/amount';
import { useAdminTexts } from './admin-texts';
import { confirmedOrder, endsAccess, NOTE_REASONS, type NoteOrder, type NoteReason } from './note-order';
import { NotePreview, useNotePreview } from './note-preview';
import { useIdempotencyKey } from './use-idempotency-key';

interface RefundDialogProps {
  invoice: InvoiceDetail;
  /** The refundable amount, in base units. */
  maximum: bigint;
  onClose: () => void;
}

interface Values {
  amount: string;
  reason: NoteReason;
  memo?: string;
  keepsAccess: boolean;
}

export const MEMO_MAX = 500;

/** Refunds an invoice by amount: shows where the money goes and whether access ends, then issues the credit note. */
export function RefundDialog({ invoice, maximum, onClose }: RefundDialogProps) {
  const { t, language } = useAdminTexts();
  const { paymentCurrency: currency } = invoice;
  const [form] = Form.useForm<Values>();
  const initial: Values = { amount: typedAmount(maximum, currency.decimal), reason: 'other', keepsAccess: false };
  const chosen = { ...initial, ...Form.useWatch([], form) };
  const errorOf = (text: string) => amountError(text, currency.decimal, maximum);
  const money = (units: string) => formatMoney(units, currency, language);
  const limit = { amount: money(maximum.toString()) };
  const order: NoteOrder | null = errorOf(chosen.amount)
    ? null
    : { invoice_id: invoice.id, amount: chosen.amount.trim(), reason: chosen.reason, to: 'refund' };
  const state = useNotePreview(order);
  const { preview, isCurrent } = state;
  const keyOf = useIdempotencyKey();
  const refund = useMutation({
    mutationFn: ({ memo, keepsAccess }: Values) => {
      if (!order || !preview) throw new Error(t('note.notPreviewed'));
      const confirmed = confirmedOrder(order, preview, currency.decimal, keepsAccess);
      const body = { ...confirmed, memo: memo?.trim() || undefined };
      return api.post<CreditNote>('/api/credit-notes', body, { idempotencyKey: keyOf(JSON.stringify(body)) });
    },
    onSuccess: async ({ refunded }) => {
      await refreshAfterPayment();
      // The dialog closes first: announcements behind an open dialog are not read.
      flushSync(onClose);
      announce(t(toUnits(refunded) > 0n ? 'refund.done' : 'refund.doneBalance'));
    },
  });
  return (
    <Dialog
      title={t('refund.title', { number: invoice.number || invoice.id })}
      isBusy={refund.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={refund.isPending}>
            {t('action.cancel')}
          </Button>
          <Button
            danger
            type="primary"
            htmlType="submit"
            form="refund"
            loading={refund.isPending}
            disabled={order !== null && !(preview && isCurrent)}
          >
            {order
              ? t('refund.actionFor', { amount: money(parseDecimal(chosen.amount, currency.decimal) ?? '0') })
              : t('refund.action')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{t('refund.text')}</p>
        <CheckedForm<Values>
          name="refund"
          form={form}
          initialValues={initial}
          onFinish={(values) => refund.mutate(values)}
        >
          <Form.Item<Values>
            name="amount"
            label={t('refund.amount', { symbol: currency.symbol })}
            extra={t('refund.most', limit)}
            rules={[
              rule((text: string) => errorOf(text) !== 'amountWrong', t('refund.amountWrong')),
              rule((text: string) => errorOf(text) !== 'amountMost', t('refund.amountMost', limit)),
            ]}
          >
            <Input inputMode="decimal" autoComplete="off" />
          </Form.Item>
          <Form.Item<Values> name="reason" label={t('note.why')}>
            <OptionList
              label={t('note.why')}
              options={NOTE_REASONS.map((value) => ({ value, title: t(`note.reason.${value}`) }))}
            />
          </Form.Item>
          <Form.Item<Values> name="memo" label={t('optional', { name: t('note.memo') })} extra={t('note.memoHint')}>
            <Input autoComplete="off" maxLength={MEMO_MAX} />
          </Form.Item>
          <Form.Item<Values> name="keepsAccess" valuePropName="checked" extra={t('note.keepAccessHint')}>
            <Checkbox disabled={!preview || !endsAccess(preview)}>{t('note.keepAccess')}</Checkbox>
          </Form.Item>
        </CheckedForm>
        <NotePreview state={state} currency={currency} keepsAccess={chosen.keepsAccess} />
        <ActionError title={t('refund.failed')} action={refund} />
      </div>
    </Dialog>
  );
}
