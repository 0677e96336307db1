import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import type { InvoiceDetail } from '@/api/types';
import { refundPreviewQuery } from '@/features/billing/queries';
import { LoadError } from '@/features/billing/states';
import { toUnits } from '@/lib/amount';
import { useAdminTexts } from './admin-texts';
import { RefundDialog } from './refund-dialog';

/** Refunds an invoice while an amount is refundable. A partly unpaid invoice needs a credit note instead. */
export function RefundButton({ invoice }: { invoice: InvoiceDetail }) {
  const { t } = useAdminTexts();
  const [open, setOpen] = useState(false);
  const isPaid = invoice.status === 'paid';
  const { data, error, refetch } = useQuery({ ...refundPreviewQuery(invoice.id), enabled: isPaid });
  const maximum = toUnits(data?.amount);
  if (isPaid && error && !data)
    return (
      <div style={{ flexBasis: '100%' }}>
        <LoadError title={t('refund.notLoaded')} error={error} onRetry={() => void refetch()} />
      </div>
    );
  if (!isPaid || (maximum <= 0n && !open)) return null;
  return (
    <>
      <Button danger onClick={() => setOpen(true)}>
        {t('refund.open')}
      </Button>
      {open ? <RefundDialog invoice={invoice} maximum={maximum} onClose={() => setOpen(false)} /> : null}
    </>
  );
}
