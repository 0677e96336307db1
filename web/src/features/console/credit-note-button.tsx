import { Button } from 'antd';
import { useState } from 'react';
import type { InvoiceDetail } from '@/api/types';
import { useAdminTexts } from './admin-texts';
import { CreditNoteDialog } from './credit-note-dialog';
import { creditableUnits } from './note-order';

/** Documents of deposits and top-ups are not creditable. */
const STATEMENTS = /stake|recharge|recover/;

/** Issues a credit note if a line of the invoice is creditable. */
export function CreditNoteButton({ invoice }: { invoice: InvoiceDetail }) {
  const { t } = useAdminTexts();
  const [open, setOpen] = useState(false);
  const isIssued = invoice.status !== 'draft' && invoice.status !== 'void';
  const isCreditable = isIssued && !STATEMENTS.test(invoice.billing_reason);
  if (!open && !(isCreditable && invoice.lines.some((line) => line.id && creditableUnits(line) > 0n))) return null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('note.open')}</Button>
      {open ? <CreditNoteDialog invoice={invoice} onClose={() => setOpen(false)} /> : null}
    </>
  );
}
