import { Button, Flex, Typography } from 'antd';
import { useState } from 'react';
import { api } from '@/api/client';
import type { InvoiceDetail, Refund } from '@/api/types';
import { ConfirmDialog } from '@/features/billing/confirm-dialog';
import { refreshAfterPayment } from '@/features/billing/refresh';
import { formatMoney } from '@/lib/amount';
import { type AdminTexts, useAdminTexts } from './admin-texts';

const PATHS = { retry: 'retry', toBalance: 'move-to-balance' } as const;
type Action = keyof typeof PATHS;

/** Why a network rejects a refund, by its code; other codes are shown as they are. */
const CODES = {
  expired_or_canceled_card: 'failedRefund.code.cardClosed',
  lost_or_stolen_card: 'failedRefund.code.cardLost',
  insufficient_funds: 'failedRefund.code.insufficient',
  INSUFFICIENT_FUND: 'failedRefund.code.insufficient',
  INSUFFICIENT_GAS: 'failedRefund.code.gas',
  charge_for_pending_refund_disputed: 'failedRefund.code.disputed',
} as const;

function failureText({ code, message }: NonNullable<Refund['failure']>, t: AdminTexts['t']): string {
  const messageKey = Object.entries(CODES).find(([each]) => each === code)?.[1];
  return messageKey ? t(messageKey) : t('failedRefund.code.other', { code: code || message });
}

interface FailedRefundProps {
  refund: Refund;
  invoice: InvoiceDetail;
}

/**
 * Why a refund failed, and the actions of an administrator: send it again, or add its amount to the customer's balance.
 */
export function FailedRefund({ refund, invoice }: FailedRefundProps) {
  const { t, language } = useAdminTexts();
  const [open, setOpen] = useState<Action | null>(null);
  if (refund.status !== 'failed' || refund.type !== 'refund') return null;
  const amount = formatMoney(refund.amount, invoice.paymentCurrency, language);
  const run = (action: Action) => api.post<Refund>(`/api/refunds/${encodeURIComponent(refund.id)}/${PATHS[action]}`);
  return (
    <>
      {refund.failure ? <Typography.Text type="secondary">{failureText(refund.failure, t)}</Typography.Text> : null}
      <Flex gap={8} wrap style={{ marginTop: 12 }}>
        {(['retry', 'toBalance'] as const).map((action) => (
          <Button key={action} size="small" onClick={() => setOpen(action)}>
            {t(`failedRefund.${action}`)}
          </Button>
        ))}
      </Flex>
      {open ? (
        <ConfirmDialog
          title={t(`failedRefund.${open}`)}
          action={t(`failedRefund.${open}`)}
          failedTitle={t('failed')}
          run={() => run(open)}
          onClose={() => setOpen(null)}
          onDone={() => {
            setOpen(null);
            void refreshAfterPayment();
          }}
        >
          <p>{t(`failedRefund.${open}Text`, { amount })}</p>
        </ConfirmDialog>
      ) : null}
    </>
  );
}
