import { useMutation } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { flushSync } from 'react-dom';
import { api } from '@/api/client';
import type { CustomerBalance, Page, Refund } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { amountError, typedAmount } from '@/features/billing/typed-amount';
import { announce } from '@/kit/announce';
import { formatMoney, parseDecimal, toUnits } from '@/lib/amount';
import { useAdminTexts } from './admin-texts';
import { MEMO_MAX } from './refund-dialog';
import { useIdempotencyKey } from './use-idempotency-key';

interface PayoutDialogProps {
  customerId: string;
  balance: CustomerBalance;
  onClose: () => void;
}

interface Values {
  amount: string;
  memo?: string;
}

/** Pays out a balance or a part of it, over the payments of the customer. */
export function PayoutDialog({ customerId, balance, onClose }: PayoutDialogProps) {
  const { t, language } = useAdminTexts();
  const { currency } = balance;
  const maximum = toUnits(balance.payout_limit);
  const [form] = Form.useForm<Values>();
  const initial: Values = { amount: typedAmount(maximum, currency.decimal) };
  const typed = Form.useWatch('amount', form) ?? initial.amount;
  const errorOf = (text: string) => amountError(text, currency.decimal, maximum);
  const money = (units: string) => formatMoney(units, currency, language);
  const limit = { amount: money(maximum.toString()) };
  const keyOf = useIdempotencyKey();
  const pay = useMutation({
    mutationFn: ({ amount, memo }: Values) => {
      const body = { currency_id: balance.currency_id, amount: amount.trim(), memo: memo?.trim() || undefined };
      const path = `/api/customers/${encodeURIComponent(customerId)}/balance/payout`;
      return api.post<Page<Refund>>(path, body, { idempotencyKey: keyOf(JSON.stringify(body)) });
    },
    onSuccess: async () => {
      await refreshAfterPayment();
      // The dialog closes first: announcements behind an open dialog are not read.
      flushSync(onClose);
      announce(t('payout.done'));
    },
  });
  return (
    <Dialog
      title={t('payout.title')}
      isBusy={pay.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={pay.isPending}>
            {t('action.cancel')}
          </Button>
          <Button danger type="primary" htmlType="submit" form="payout" loading={pay.isPending}>
            {errorOf(typed)
              ? t('payout.action')
              : t('payout.actionFor', { amount: money(parseDecimal(typed, currency.decimal) ?? '0') })}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{t('payout.text')}</p>
        <CheckedForm<Values>
          name="payout"
          form={form}
          initialValues={initial}
          onFinish={(values) => pay.mutate(values)}
        >
          <Form.Item<Values>
            name="amount"
            label={t('refund.amount', { symbol: currency.symbol })}
            extra={t('refund.most', limit)}
            rules={[
              rule((text: string) => errorOf(text) !== 'amountWrong', t('refund.amountWrong')),
              rule((text: string) => errorOf(text) !== 'amountMost', t('payout.amountMost', limit)),
            ]}
          >
            <Input inputMode="decimal" autoComplete="off" />
          </Form.Item>
          <Form.Item<Values> name="memo" label={t('optional', { name: t('note.memo') })} extra={t('payout.memoHint')}>
            <Input autoComplete="off" maxLength={MEMO_MAX} />
          </Form.Item>
        </CheckedForm>
        <ActionError title={t('payout.failed')} action={pay} />
      </div>
    </Dialog>
  );
}
