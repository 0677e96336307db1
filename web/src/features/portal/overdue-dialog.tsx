import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import type { Overdue } from '@/api/types';
import { spokenError } from '@/i18n/spoken';
import { Button } from '@/kit/button';
import { Dialog } from '@/kit/dialog';
import { formatMoney } from '@/lib/amount';
import { Failure } from './dialog-parts';
import styles from './dialogs.module.css';
import { methodText } from './invoice-text';
import { useNames } from './names';
import { OverdueDebts } from './overdue-debts';
import type { Debtor } from './pay';
import { type Texts, useTexts } from './texts';
import { type OpenDebt, useOverdue } from './use-overdue';

interface OverdueDialogProps {
  debtor: Debtor;
  onClose: () => void;
  /** Nothing remains unpaid. */
  onPaid: () => void;
  /** What stands in the dialog instead of the rows of the default mode. */
  custom?: (debts: OpenDebt[], overdue: Overdue) => ReactNode;
}

/** All that is unpaid for one subscription or the whole account; ends by itself when nothing remains. */
export function OverdueDialog({ debtor, onClose, onPaid, custom }: OverdueDialogProps) {
  const texts = useTexts();
  const { t } = texts;
  const named = useNames();
  const { data, error, refetch, debts } = useOverdue(debtor);
  const paying = debts.some(({ state }) => state.name === 'paying');
  const paid = useRef(onPaid);
  paid.current = onPaid;
  const nothing = data !== undefined && debts.length === 0;
  useEffect(() => {
    if (nothing) paid.current();
  }, [nothing]);
  return (
    <Dialog title={t('overdue.title')} closeLabel={t('action.close')} onClose={onClose} locked={paying}>
      <div className={styles.form}>
        {error && !data ? (
          <>
            <Failure title={t('overdue.error')} text={spokenError(error)} />
            <Button look="primary" onClick={() => void refetch()}>
              {t('action.retry')}
            </Button>
          </>
        ) : data ? (
          <>
            <p>{leadText(data, debts, texts, named)}</p>
            {custom ? custom(debts, data) : <OverdueDebts debts={debts} invoices={data.invoices} debtor={debtor} />}
            {'customerId' in debtor ? (
              <Link to="/customer/invoice/past-due" className={styles.link}>
                {t('overdue.all')}
              </Link>
            ) : null}
          </>
        ) : (
          <div className={styles.waiting} aria-busy="true" />
        )}
      </div>
    </Dialog>
  );
}

/** One currency: for what, how many, how much and by which method. Several: only that there is something. */
export function leadText(
  overdue: Overdue,
  debts: OpenDebt[],
  texts: Texts,
  named: (written: string) => string,
): string {
  const { t, language } = texts;
  const [debt] = debts;
  const description = overdue.subscription?.description;
  const name = description && named(description);
  if (debts.length !== 1 || !debt) return name ? t('overdue.leadFor', { name }) : t('overdue.lead');
  const values = {
    count: overdue.invoices.length,
    amount: formatMoney(debt.amount, debt.currency, language),
    method: methodText(debt.method, texts),
  };
  return name ? t('overdue.leadOneFor', { ...values, name }) : t('overdue.leadOne', values);
}
