import { useQuery } from '@tanstack/react-query';
import { overdueQuery } from '@/features/billing/queries';
import { refreshBilling } from '@/features/billing/refresh';
import { useTexts } from '@/features/billing/texts';
import { usePaidInvoices } from '@/features/billing/use-paid-invoices';
import { type OverduePayment, useOverduePayments } from '@/features/overdue/use-overdue-payments';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import { isPaidByWallet, type OverdueBalance, type Payer } from './pay';

export interface OpenBalance extends OverdueBalance {
  currencyId: string;
  payment: OverduePayment;
  /** A wallet pays it here; a card is not charged here. */
  byWallet: boolean;
  pay: () => void;
}

/** The overdue balance of a payer in each currency, each with its own payment. */
export function useOverdue(payer: Payer) {
  const { t, language } = useTexts();
  const { data, error, refetch } = useQuery(overdueQuery(payer));
  usePaidInvoices(data?.customer?.id ?? data?.invoices[0]?.customer_id);
  const { shown, paymentOf, pay } = useOverduePayments({
    overdue: data,
    refetch,
    requestOf: (currencyId) => {
      const balance = data?.summary[currencyId];
      const amount = balance ? formatMoney(balance.amount, balance.currency, language) : '';
      return { title: t('overdue.payTitle', { amount }), extraParams: { currencyId, ...payer } };
    },
    onSettled: () => {
      announce(t('pay.done'));
      void refreshBilling();
    },
  });
  const balances: OpenBalance[] = Object.entries(shown?.summary ?? {}).map(([currencyId, balance]) => ({
    ...balance,
    currencyId,
    payment: paymentOf(currencyId),
    byWallet: isPaidByWallet(balance.method),
    pay: () => pay(currencyId),
  }));
  return { data: shown, error, refetch, balances };
}
