import { useMutation } from '@tanstack/react-query';
import { Button, Checkbox, Form, Input } from 'antd';
import { useState } from 'react';
import { flushSync } from 'react-dom';
import { api } from '@/api/client';
import type { CreditNote, InvoiceDetail, InvoiceLine } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog, ErrorAlert } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { descriptionText } from '@/features/billing/invoice-text';
import { OptionList } from '@/features/billing/option-list';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { useTexts } from '@/features/billing/texts';
import { amountError, typedAmount } from '@/features/billing/typed-amount';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import { useAdminTexts } from './admin-texts';
import {
  confirmedOrder,
  creditableUnits,
  endsAccess,
  NOTE_DESTINATIONS,
  NOTE_REASONS,
  type NoteDestination,
  type NoteOrder,
  type NoteReason,
  typedItems,
} from './note-order';
import { NotePreview, useNotePreview } from './note-preview';
import { MEMO_MAX } from './refund-dialog';
import { useIdempotencyKey } from './use-idempotency-key';

interface Values {
  /** By the id of the line. */
  amounts: Record<string, string | undefined>;
  reason: NoteReason;
  to: NoteDestination;
  memo?: string;
  keepsAccess: boolean;
}

interface CreditNoteDialogProps {
  invoice: InvoiceDetail;
  onClose: () => void;
}

type CreditableLine = InvoiceLine & { id: string };

const isCreditable = (line: InvoiceLine): line is CreditableLine => Boolean(line.id) && creditableUnits(line) > 0n;

/** Issues a credit note by items: an amount for each line, the reason, and where the paid part goes. */
export function CreditNoteDialog({ invoice, onClose }: CreditNoteDialogProps) {
  const { t, language } = useAdminTexts();
  const billingTexts = useTexts();
  const { paymentCurrency: currency } = invoice;
  const [form] = Form.useForm<Values>();
  const [isEmpty, setIsEmpty] = useState(false);
  const lines = invoice.lines.filter(isCreditable);
  const initial: Values = { amounts: {}, reason: 'other', to: 'refund', keepsAccess: false };
  const chosen = { ...initial, ...Form.useWatch([], form) };
  const money = (units: bigint) => formatMoney(units.toString(), currency, language);
  const errorOf = (text: string | undefined, line: CreditableLine) =>
    text?.trim() ? amountError(text, currency.decimal, creditableUnits(line)) : null;
  const items = typedItems(chosen.amounts, currency.decimal) ?? [];
  const isWrong = lines.some((line) => errorOf(chosen.amounts[line.id], line));
  const order: NoteOrder | null =
    isWrong || items.length === 0 ? null : { invoice_id: invoice.id, items, reason: chosen.reason, to: chosen.to };
  const state = useNotePreview(order);
  const { preview, isCurrent } = state;
  const keyOf = useIdempotencyKey();
  const issue = useMutation({
    mutationFn: ({ memo, keepsAccess }: Values) => {
      if (!order || !preview) throw new Error(t('note.notPreviewed'));
      const confirmed = confirmedOrder(order, preview, currency.decimal, keepsAccess);
      const body = { ...confirmed, memo: memo?.trim() || undefined };
      return api.post<CreditNote>('/api/credit-notes', body, { idempotencyKey: keyOf(JSON.stringify(body)) });
    },
    onSuccess: async ({ number }) => {
      await refreshAfterPayment();
      // The dialog closes first: announcements behind an open dialog are not read.
      flushSync(onClose);
      announce(t('note.done', { number }));
    },
  });
  const creditAll = () => {
    setIsEmpty(false);
    const amounts = lines.map((line) => [line.id, typedAmount(creditableUnits(line), currency.decimal)]);
    form.setFieldsValue({ amounts: Object.fromEntries(amounts) });
  };
  return (
    <Dialog
      title={t('note.title', { number: invoice.number || invoice.id })}
      isBusy={issue.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={issue.isPending}>
            {t('action.cancel')}
          </Button>
          <Button
            danger
            type="primary"
            htmlType="submit"
            form="creditNote"
            loading={issue.isPending}
            disabled={order !== null && !(preview && isCurrent)}
          >
            {order && preview ? t('note.actionFor', { amount: money(BigInt(preview.total)) }) : t('note.action')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{t('note.text')}</p>
        <CheckedForm<Values>
          name="creditNote"
          form={form}
          initialValues={initial}
          onValuesChange={() => setIsEmpty(false)}
          onFinish={(values) => (items.length === 0 ? setIsEmpty(true) : issue.mutate(values))}
        >
          {lines.map((line) => {
            const limit = { amount: money(creditableUnits(line)) };
            return (
              <Form.Item
                key={line.id}
                name={['amounts', line.id]}
                label={t('note.amountOf', {
                  name: descriptionText(line, billingTexts),
                  symbol: currency.symbol,
                })}
                extra={t('refund.most', limit)}
                rules={[
                  rule((text?: string) => errorOf(text, line) !== 'amountWrong', t('refund.amountWrong')),
                  rule((text?: string) => errorOf(text, line) !== 'amountMost', t('note.amountMost', limit)),
                ]}
              >
                <Input inputMode="decimal" autoComplete="off" />
              </Form.Item>
            );
          })}
          <Form.Item>
            <Button onClick={creditAll}>{t('note.all')}</Button>
          </Form.Item>
          <Form.Item<Values> name="to" label={t('note.to')} extra={t('note.toHint')}>
            <OptionList
              label={t('note.to')}
              options={NOTE_DESTINATIONS.map((value) => ({ value, title: t(`note.to.${value}`) }))}
            />
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
        {isEmpty ? <ErrorAlert title={t('note.failed')} text={t('note.empty')} /> : null}
        <ActionError title={t('note.failed')} action={issue} />
      </div>
    </Dialog>
  );
}
