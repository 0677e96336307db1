import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { Overdue } from '@/api/types';
import { Dialog, ErrorAlert } from '@/features/billing/dialog';
import styles from '@/features/billing/dialog.module.css';
import { Loading } from '@/features/billing/states';
import { useTexts } from '@/features/billing/texts';
import { translateError } from '@/i18n/translate';
import { OverdueBalances, overdueText } from './overdue-balances';
import { OverdueInvoices } from './overdue-invoices';
import type { Payer } from './pay';
import { type OpenBalance, useOverdue } from './use-overdue';

interface OverdueDialogProps {
  payer: Payer;
  onClose: () => void;
  /** Nothing is unpaid any more. */
  onPaid: () => void;
  /** Replaces the invoices and rows of the default mode. */
  custom?: (balances: OpenBalance[], overdue: Overdue) => ReactNode;
}

/** All unpaid invoices of one subscription or of the whole account; closes when they are paid. */
export function OverdueDialog({ payer, onClose, onPaid, custom }: OverdueDialogProps) {
  const texts = useTexts();
  const { t } = texts;
  const { data, error, refetch, balances } = useOverdue(payer);
  const [isCardOpen, setIsCardOpen] = useState(false);
  const isPaying = balances.some(({ payment }) => payment.name === 'open');
  const onPaidRef = useRef(onPaid);
  onPaidRef.current = onPaid;
  const isPaid = data !== undefined && balances.length === 0;
  useEffect(() => {
    if (isPaid) onPaidRef.current();
  }, [isPaid]);
  return (
    <Dialog
      title={t('overdue.title')}
      isBusy={isPaying || isCardOpen}
      onClose={onClose}
      footer={
        error && !data ? (
          <Button type="primary" onClick={() => void refetch()}>
            {t('action.retry')}
          </Button>
        ) : null
      }
    >
      {data ? (
        <div className={styles.body}>
          <p>{overdueText(data, balances, texts)}</p>
          {custom ? (
            custom(balances, data)
          ) : (
            <>
              <OverdueInvoices invoices={data.invoices} />
              <OverdueBalances balances={balances} invoices={data.invoices} payer={payer} onCardForm={setIsCardOpen} />
            </>
          )}
          {'customerId' in payer ? <Link to="/customer/invoice/past-due">{t('overdue.all')}</Link> : null}
        </div>
      ) : error ? (
        <ErrorAlert title={t('overdue.error')} text={translateError(error)} />
      ) : (
        <Loading rows={6} />
      )}
    </Dialog>
  );
}
