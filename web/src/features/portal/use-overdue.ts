import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import { collectBatch, type Debt, type Debtor, isPaidByWallet } from './pay';
import { overdueQuery } from './queries';
import { refreshBilling } from './refresh';
import { useTexts } from './texts';
import { usePaidInvoices } from './use-paid-invoices';

export type DebtState = { name: 'idle' | 'paying' | 'success' } | { name: 'error'; message: string };

/** How often the store is asked whether a payment has arrived. */
const POLL_MS = 2000;

export interface OpenDebt extends Debt {
  currencyId: string;
  state: DebtState;
  /** A card is not charged here. */
  supported: boolean;
  pay: () => void;
}

/** What a debtor owes in each currency, each with its own payment: idle, paying, paid, or failed and to be tried again. */
export function useOverdue(debtor: Debtor) {
  const { t, language } = useTexts();
  const [states, setStates] = useState<Record<string, DebtState>>({});
  // The wallet has paid; until the network has told the store so, the debt still stands.
  const query = useQuery({
    ...overdueQuery(debtor),
    refetchInterval: ({ state }) =>
      Object.keys(state.data?.summary ?? {}).some((id) => states[id]?.name === 'success') ? POLL_MS : false,
  });
  const { data } = query;
  usePaidInvoices(data?.customer?.id ?? data?.invoices[0]?.customer_id);
  const set = (currencyId: string, state: DebtState) => setStates((now) => ({ ...now, [currencyId]: state }));

  const pay = (currencyId: string, { amount, currency }: Debt) => {
    let failure: string | undefined;
    set(currencyId, { name: 'paying' });
    collectBatch(t('overdue.payTitle', { amount: formatMoney(amount, currency, language) }), currencyId, debtor, {
      onError: (message) => {
        failure = message || t('overdue.notPaid');
      },
      onSuccess: () => {
        announce(t('pay.done'));
        void refreshBilling().finally(() => set(currencyId, { name: 'success' }));
      },
      onClose: () => set(currencyId, failure ? { name: 'error', message: failure } : { name: 'idle' }),
    });
  };

  const debts: OpenDebt[] = Object.entries(data?.summary ?? {}).map(([currencyId, debt]) => ({
    ...debt,
    currencyId,
    state: states[currencyId] ?? { name: 'idle' },
    supported: isPaidByWallet(debt.method),
    pay: () => pay(currencyId, debt),
  }));
  return { ...query, debts };
}
