import { useQuery } from '@tanstack/react-query';
import { Button, Typography } from 'antd';
import { useState } from 'react';
import type { InvoiceDetail } from '@/api/types';
import { refundPreviewQuery } from '@/features/billing/queries';
import { formatMoney, toUnits } from '@/lib/amount';
import { useAdminTexts } from './admin-texts';
import { RefundDialog } from './refund-dialog';

/** Refunds an invoice as long as something of it can be refunded; otherwise says why nothing can. */
export function RefundButton({ invoice }: { invoice: InvoiceDetail }) {
  const { t, language } = useAdminTexts();
  const [open, setOpen] = useState(false);
  const isPaid = invoice.status === 'paid';
  const { data } = useQuery({ ...refundPreviewQuery(invoice.id), enabled: isPaid });
  const most = toUnits(data?.amount ?? '0');
  const kept = toUnits(data?.left ?? '0') - most;
  if (!isPaid) return null;
  if (most <= 0n && !open) {
    const amount = formatMoney(kept.toString(), invoice.paymentCurrency, language);
    return kept > 0n ? <Typography.Text type="secondary">{t('refund.kept', { amount })}</Typography.Text> : null;
  }
  return (
    <>
      <Button danger onClick={() => setOpen(true)}>
        {t('refund.open')}
      </Button>
      {open ? <RefundDialog invoice={invoice} most={most} kept={kept} onClose={() => setOpen(false)} /> : null}
    </>
  );
}
