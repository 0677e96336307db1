import { useMutation } from '@tanstack/react-query';
import { Button, Form, Input, Typography } from 'antd';
import { flushSync } from 'react-dom';
import type { Payee, PaymentCurrency } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog, Note } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { amountError, typedAmount } from '@/features/billing/typed-amount';
import { announce } from '@/kit/announce';
import { formatMoney, toUnits } from '@/lib/amount';
import { type PayoutInput, payoutBody, REASON_MAX, recordPayout, reloadPayables } from './payables';
import { useTexts } from './texts';
import { useIdempotencyKey } from './use-idempotency-key';

const FORM = 'record-payout';

interface RecordPayoutDialogProps {
  /** As it was when the dialog opened. */
  payee: Payee;
  currency: PaymentCurrency;
  onClose: () => void;
}

/** Records a payout that the owner has made outside of the store. Nothing is sent. */
export function RecordPayoutDialog({ payee, currency, onClose }: RecordPayoutDialogProps) {
  const { t, language } = useTexts();
  const maximum = toUnits(payee.payable);
  const most = { amount: formatMoney(payee.payable, currency, language) };
  const errorOf = (typed?: string) => amountError(typed ?? '', currency.decimal, maximum);
  const keyOf = useIdempotencyKey();
  const record = useMutation({
    mutationFn: (input: PayoutInput) => {
      const body = payoutBody(payee, input);
      return recordPayout(payee, body, keyOf(JSON.stringify(body)));
    },
    onSuccess: async () => {
      await reloadPayables();
      // The dialog closes first: announcements behind an open dialog are not read.
      flushSync(onClose);
      announce(t('payables.recorded'));
    },
    // Another payout may have changed what is payable: the page behind the dialog shows it, and the dialog must be
    // opened again.
    onError: () => void reloadPayables(),
  });
  return (
    <Dialog
      title={t('payables.record')}
      isBusy={record.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={record.isPending}>
            {t('action.cancel')}
          </Button>
          <Button type="primary" htmlType="submit" form={FORM} loading={record.isPending}>
            {t('payables.recordAction')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <Note type="info" title={t('payables.recordText')} />
        <p style={{ margin: 0, overflowWrap: 'anywhere' }}>
          {payee.name ? `${payee.name} ` : null}
          <Typography.Text code>{payee.beneficiary}</Typography.Text>
        </p>
        <CheckedForm<PayoutInput>
          name={FORM}
          initialValues={{ amount: typedAmount(maximum, currency.decimal), reason: '' }}
          onFinish={(input) => record.mutate(input)}
        >
          <Form.Item<PayoutInput>
            name="amount"
            label={t('payables.amountIn', { symbol: currency.symbol })}
            extra={t('payables.most', most)}
            rules={[
              rule((typed?: string) => errorOf(typed) !== 'amountWrong', t('payables.amountWrong')),
              rule((typed?: string) => errorOf(typed) !== 'amountMost', t('payables.amountMost', most)),
            ]}
          >
            <Input inputMode="decimal" autoComplete="off" />
          </Form.Item>
          <Form.Item<PayoutInput>
            name="reason"
            label={t('payables.reason')}
            extra={t('payables.reasonHint')}
            rules={[rule((reason?: string) => Boolean(reason?.trim()), t('payables.reasonRequired'))]}
          >
            <Input autoComplete="off" maxLength={REASON_MAX} />
          </Form.Item>
        </CheckedForm>
        <ActionError title={t('payables.notRecorded')} action={record} />
      </div>
    </Dialog>
  );
}
