import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { InvoiceDetail } from '@/api/types';
import { Failed } from '@/app/notice';
import { useUser } from '@/app/queries';
import { spokenError } from '@/i18n/spoken';
import { Button } from '@/kit/button';
import { formatMoney, toUnits } from '@/lib/amount';
import { dayText } from '@/lib/format';
import styles from './invoice-page.module.css';
import { refundPreviewQuery, refundsQuery } from './queries';
import { mayRefund } from './refund';
import { RefundDialog } from './refund-dialog';
import { RefundBadge } from './status';
import { useTexts } from './texts';

interface RefundsProps {
  invoice: InvoiceDetail;
  money: (amount: string | undefined) => string;
}

/** What was given back of an invoice. */
export function Refunds({ invoice, money }: RefundsProps) {
  const { t, language } = useTexts();
  const { data, error, refetch } = useQuery({ ...refundsQuery(invoice.id), enabled: Boolean(useUser()) });
  if (error && !data) {
    // An invoice that was never paid has nothing that could be paid back.
    if (invoice.status !== 'paid') return null;
    return <Failed title={t('invoice.refunds.error')} text={spokenError(error)} onRetry={() => void refetch()} />;
  }
  if (!data?.list.length) return null;
  return (
    <section aria-labelledby="refunds">
      <h2 id="refunds" className={styles.sub}>
        {t('invoice.refunds')}
      </h2>
      <ul className={styles.refunds}>
        {data.list.map((refund) => (
          <li key={refund.id}>
            <span className="money">{money(refund.amount)}</span>
            <span>
              {t(`refund.type.${refund.type}`)}
              {refund.description ? <span className={styles.note}>{refund.description}</span> : null}
            </span>
            <RefundBadge status={refund.status} />
            <time dateTime={refund.created_at} className={styles.note}>
              {dayText(refund.created_at, language)}
            </time>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** For those who run the store: a button as long as something is left to give back, and why not where it is credit. */
export function GiveBack({ invoice }: { invoice: InvoiceDetail }) {
  const { t, language } = useTexts();
  const user = useUser();
  const [open, setOpen] = useState(false);
  const mayGive = mayRefund(user) && invoice.status === 'paid';
  const { data } = useQuery({ ...refundPreviewQuery(invoice.id), enabled: mayGive });
  const most = toUnits(data?.amount ?? '0');
  const kept = toUnits(data?.left ?? '0') - most;
  if (!mayGive) return null;
  if (most <= 0n && !open) {
    const amount = formatMoney(kept.toString(), invoice.paymentCurrency, language);
    return kept > 0n ? <p className={styles.note}>{t('refund.kept', { amount })}</p> : null;
  }
  return (
    <>
      <Button look="danger" onClick={() => setOpen(true)}>
        {t('refund.open')}
      </Button>
      {open ? <RefundDialog invoice={invoice} most={most} kept={kept} onClose={() => setOpen(false)} /> : null}
    </>
  );
}
