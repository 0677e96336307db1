import { useMutation } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { flushSync } from 'react-dom';
import type { SharePayout } from '@/api/types';
import { ActionError } from '@/features/billing/action-error';
import { Dialog, Note } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { CheckedForm, rule } from '@/features/billing/form';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import { REASON_MAX, reloadPayables, reversePayout } from './payables';
import { useTexts } from './texts';

const FORM = 'reverse-payout';

interface Values {
  reason: string;
}

interface ReversePayoutDialogProps {
  payout: SharePayout;
  onClose: () => void;
}

/** Takes back a payout that was recorded by mistake. Nothing is sent. */
export function ReversePayoutDialog({ payout, onClose }: ReversePayoutDialogProps) {
  const { t, language } = useTexts();
  const { amount, currency } = payout;
  const reverse = useMutation({
    mutationFn: ({ reason }: Values) => reversePayout(payout.id, reason),
    onSuccess: async () => {
      await reloadPayables();
      // The dialog closes first: announcements behind an open dialog are not read.
      flushSync(onClose);
      announce(t('payables.reversedDone'));
    },
    // Another owner may have reversed it: the page behind the dialog shows it.
    onError: () => void reloadPayables(),
  });
  return (
    <Dialog
      title={t('payables.reverse')}
      isBusy={reverse.isPending}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={reverse.isPending}>
            {t('action.cancel')}
          </Button>
          <Button danger type="primary" htmlType="submit" form={FORM} loading={reverse.isPending}>
            {t('payables.reverseAction')}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <Note
          type="info"
          title={t('payables.reverseText', { amount: currency ? formatMoney(amount, currency, language) : amount })}
        />
        <CheckedForm<Values> name={FORM} initialValues={{ reason: '' }} onFinish={(values) => reverse.mutate(values)}>
          <Form.Item<Values>
            name="reason"
            label={t('payables.reason')}
            extra={t('payables.reverseHint')}
            rules={[rule((reason?: string) => Boolean(reason?.trim()), t('payables.reasonRequired'))]}
          >
            <Input autoComplete="off" maxLength={REASON_MAX} />
          </Form.Item>
        </CheckedForm>
        <ActionError title={t('payables.notReversed')} action={reverse} />
      </div>
    </Dialog>
  );
}
