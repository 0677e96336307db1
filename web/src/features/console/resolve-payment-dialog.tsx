import { useMutation } from '@tanstack/react-query';
import { Button, Form } from 'antd';
import { api } from '@/api/client';
import type { PaymentOnHold, PaymentResolution } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { OptionList } from '@/features/billing/option-list';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { formatMoney, toUnits } from '@/lib/amount';
import { type Texts, useTexts } from './texts';
import { useIdempotencyKey } from './use-idempotency-key';

/** Where the money of a payment on hold can go. */
const TARGETS = ['invoice', 'balance', 'refund'] as const;

interface Values {
  /** Without one if no money is left. */
  to?: (typeof TARGETS)[number];
}

interface ResolvePaymentDialogProps {
  payment: PaymentOnHold;
  onClose: () => void;
  /** With the text that says what became of the money. */
  onDone: (text: string) => void;
}

/** Decides what happens to the money of a payment on hold. Nothing is preselected. */
export function ResolvePaymentDialog({ payment, onClose, onDone }: ResolvePaymentDialogProps) {
  const texts = useTexts();
  const { t } = texts;
  const [form] = Form.useForm<Values>();
  const to = Form.useWatch('to', form);
  const keyOf = useIdempotencyKey();
  const resolve = useMutation({
    mutationFn: (values: Values) => {
      const path = `/api/payment-intents/${encodeURIComponent(payment.id)}/resolve`;
      return api.post<PaymentResolution>(path, values, { idempotencyKey: keyOf(JSON.stringify(values)) });
    },
    onSuccess: async (resolution) => {
      await refreshAfterPayment();
      onDone(resolvedText(resolution, payment, texts));
    },
  });
  const money = (amount: string) => formatMoney(amount, payment.paymentCurrency, texts.language);
  const refunded = toUnits(payment.amount_refunded);
  const isMoneyLeft = toUnits(payment.amount_received) > refunded;
  const isPayable = payment.invoices.some(({ amount_payable: amount }) => toUnits(amount) > 0n);
  return (
    <Dialog
      title={t('heldPayments.resolve.title')}
      isBusy={resolve.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={resolve.isPending}>
            {t('action.cancel')}
          </Button>
          <Button
            type="primary"
            danger={to === 'refund'}
            htmlType="submit"
            form="resolvePayment"
            loading={resolve.isPending}
          >
            {t(to === 'refund' ? 'heldPayments.resolve.refundAction' : 'heldPayments.resolve.action')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>
          {t('heldPayments.resolve.text', {
            asked: money(payment.amount),
            moved: money(payment.amount_received),
          })}
        </p>
        {refunded > 0n ? <p>{t('heldPayments.resolve.refunded', { amount: money(payment.amount_refunded) })}</p> : null}
        {isMoneyLeft ? null : <p>{t('heldPayments.resolve.nothing')}</p>}
        <CheckedForm<Values> name="resolvePayment" form={form} onFinish={(values) => resolve.mutate(values)}>
          {isMoneyLeft ? (
            <Form.Item<Values>
              name="to"
              label={t('heldPayments.resolve.choice')}
              rules={[rule<Values['to']>(Boolean, t('heldPayments.resolve.choiceMissing'))]}
            >
              <OptionList
                label={t('heldPayments.resolve.choice')}
                options={TARGETS.map((value) => {
                  const disabled = value === 'invoice' && !isPayable;
                  return {
                    value,
                    disabled,
                    title: t(`heldPayments.to.${value}`),
                    detail: t(disabled ? 'heldPayments.to.invoicePaid' : `heldPayments.to.${value}Detail`),
                  };
                })}
              />
            </Form.Item>
          ) : null}
        </CheckedForm>
        <ActionError title={t('heldPayments.resolve.failed')} action={resolve} />
      </div>
    </Dialog>
  );
}

/** What became of the money. */
function resolvedText(resolution: PaymentResolution, payment: PaymentOnHold, { t, language }: Texts): string {
  const money = (units: bigint) => formatMoney(units.toString(), payment.paymentCurrency, language);
  const amount = toUnits(resolution.amount);
  const toBalance = toUnits(resolution.balance_transaction?.amount);
  if (amount === 0n) return t('heldPayments.done.nothing');
  if (resolution.refund) return t('heldPayments.done.refund', { amount: money(amount) });
  if (resolution.invoice_ids.length === 0) return t('heldPayments.done.balance', { amount: money(amount) });
  return toBalance > 0n
    ? t('heldPayments.done.invoiceAndBalance', { amount: money(amount - toBalance), rest: money(toBalance) })
    : t('heldPayments.done.invoice', { amount: money(amount) });
}
