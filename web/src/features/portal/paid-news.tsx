import { useEffect, useState } from 'react';
import { announce } from '@/kit/announce';
import { Check } from '@/kit/icons';
import styles from './paid-news.module.css';
import { useTexts } from './texts';
import { usePaidInvoices } from './use-paid-invoices';

const SHOWN_MS = 6000;

/** Says when an invoice of this customer was paid, wherever that was, and has what is shown asked again. */
export function PaidNews({ customerId }: { customerId: string | undefined }) {
  const { t } = useTexts();
  const [news, setNews] = useState(0);
  usePaidInvoices(customerId, () => {
    announce(t('pay.done'));
    setNews((before) => before + 1);
  });
  useEffect(() => {
    if (news === 0) return;
    const timer = setTimeout(() => setNews(0), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [news]);
  if (news === 0) return null;
  // Screen readers were told.
  return (
    <div className={styles.news} aria-hidden="true">
      <p className="k-toast">
        <Check />
        {t('pay.done')}
      </p>
    </div>
  );
}
