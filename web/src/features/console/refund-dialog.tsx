import { useMutation } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useRef } from 'react';
import { flushSync } from 'react-dom';
import { api, idempotencyKey } from '@/api/client';
import type { InvoiceDetail, Refund } from '@/api/types';
import { Dialog, ErrorAlert } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { OptionList } from '@/features/billing/option-list';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { amountError, typedAmount } from '@/features/billing/typed-amount';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import { formatMoney, parseDecimal } from '@/lib/amount';
import { useAdminTexts } from './admin-texts';
import { REFUND_REASONS, type RefundReason } from './refund';

interface RefundDialogProps {
  invoice: InvoiceDetail;
  /** What can be refunded, in base units. */
  most: bigint;
  /** The rest, which cannot. */
  kept: bigint;
  onClose: () => void;
}

interface Values {
  amount: string;
  reason: RefundReason;
  description?: string;
}

const DESCRIPTION_MAX = 500;

/** Refunds an invoice, whole or in part: the amount, the reason, and a note that the customer reads. */
export function RefundDialog({ invoice, most, kept, onClose }: RefundDialogProps) {
  const { t, language } = useAdminTexts();
  const { paymentCurrency: currency, paymentIntent: payment } = invoice;
  const [form] = Form.useForm<Values>();
  const initial = typedAmount(most, currency.decimal);
  const typed = Form.useWatch('amount', form) ?? initial;
  const errorOf = (text: string) => amountError(text, currency.decimal, most);
  const money = (units: string) => formatMoney(units, currency, language);
  const limit = { amount: money(most.toString()) };
  const hints = [t('refund.most', limit)];
  if (kept > 0n) hints.push(t('refund.kept', { amount: money(kept.toString()) }));
  const keyOf = useIdempotencyKey();
  const refund = useMutation({
    mutationFn: ({ amount, reason, description }: Values) => {
      const body = {
        payment_intent_id: payment?.id,
        invoice_id: invoice.id,
        amount: amount.trim(),
        reason,
        description: description?.trim() || undefined,
      };
      return api.post<Refund>('/api/refunds', body, { idempotencyKey: keyOf(JSON.stringify(body)) });
    },
    onSuccess: async ({ type, status }) => {
      await refreshAfterPayment();
      // The dialog closes first: announcements behind an open dialog are not read.
      flushSync(onClose);
      announce(t(type === 'credit' && status === 'succeeded' ? 'refund.doneCredit' : 'refund.done'));
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
          <Button danger type="primary" htmlType="submit" form="refund" loading={refund.isPending}>
            {errorOf(typed)
              ? t('refund.action')
              : t('refund.actionFor', { amount: money(parseDecimal(typed, currency.decimal) ?? '0') })}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{t('refund.text')}</p>
        <CheckedForm<Values>
          name="refund"
          form={form}
          initialValues={{ amount: initial, reason: 'requested_by_customer' }}
          onFinish={(values) => refund.mutate(values)}
        >
          <Form.Item<Values>
            name="amount"
            label={t('refund.amount', { symbol: currency.symbol })}
            extra={hints.join(language === 'zh' ? '' : ' ')}
            rules={[
              rule((text: string) => errorOf(text) !== 'amountWrong', t('refund.amountWrong')),
              rule((text: string) => errorOf(text) !== 'amountMost', t('refund.amountMost', limit)),
            ]}
          >
            <Input inputMode="decimal" autoComplete="off" />
          </Form.Item>
          <Form.Item<Values> name="reason" label={t('refund.why')}>
            <OptionList
              label={t('refund.why')}
              options={REFUND_REASONS.map((value) => ({ value, title: t(`refund.reason.${value}`) }))}
            />
          </Form.Item>
          <Form.Item<Values>
            name="description"
            label={t('optional', { name: t('refund.description') })}
            extra={t('refund.descriptionHint')}
          >
            <Input autoComplete="off" maxLength={DESCRIPTION_MAX} />
          </Form.Item>
        </CheckedForm>
        {refund.isError ? <ErrorAlert title={t('refund.failed')} text={translateError(refund.error)} /> : null}
      </div>
    </Dialog>
  );
}

/** The same key for the same request: whoever sends it again after a lost answer does not refund twice. */
function useIdempotencyKey(): (request: string) => string {
  const last = useRef({ request: '', key: '' });
  return (request) => {
    if (last.current.request !== request) last.current = { request, key: idempotencyKey() };
    return last.current.key;
  };
}
