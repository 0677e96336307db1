import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { overdueQuery } from '@/features/billing/queries';
import { refreshBilling } from '@/features/billing/refresh';
import { useTexts } from '@/features/billing/texts';
import { usePaidInvoices } from '@/features/billing/use-paid-invoices';
import { announce } from '@/kit/announce';
import { formatMoney } from '@/lib/amount';
import { collectBatch, isPaidByWallet, type OverdueBalance, type Payer } from './pay';

export type BalanceState = { name: 'idle' | 'paying' | 'success' } | { name: 'error'; message: string };

/** The poll interval for a payment that the network has not confirmed yet. */
const POLL_MS = 2000;

export interface OpenBalance extends OverdueBalance {
  currencyId: string;
  state: BalanceState;
  /** A wallet pays it here; a card is not charged here. */
  byWallet: boolean;
  pay: () => void;
}

/** The overdue balance of a payer in each currency, each with its own payment and payment state. */
export function useOverdue(payer: Payer) {
  const { t, language } = useTexts();
  const [states, setStates] = useState<Record<string, BalanceState>>({});
  // After the wallet has paid, the balance stays until the network has confirmed it to the store.
  const query = useQuery({
    ...overdueQuery(payer),
    refetchInterval: ({ state }) =>
      Object.keys(state.data?.summary ?? {}).some((id) => states[id]?.name === 'success') ? POLL_MS : false,
  });
  const { data } = query;
  usePaidInvoices(data?.customer?.id ?? data?.invoices[0]?.customer_id);
  const setBalanceState = (currencyId: string, state: BalanceState) =>
    setStates((current) => ({ ...current, [currencyId]: state }));

  const pay = (currencyId: string, { amount, currency }: OverdueBalance) => {
    let failure: string | undefined;
    setBalanceState(currencyId, { name: 'paying' });
    collectBatch(t('overdue.payTitle', { amount: formatMoney(amount, currency, language) }), currencyId, payer, {
      onError: (message) => {
        failure = message || t('overdue.notPaid');
      },
      onSuccess: () => {
        announce(t('pay.done'));
        void refreshBilling().finally(() => setBalanceState(currencyId, { name: 'success' }));
      },
      onClose: () => setBalanceState(currencyId, failure ? { name: 'error', message: failure } : { name: 'idle' }),
    });
  };

  const balances: OpenBalance[] = Object.entries(data?.summary ?? {}).map(([currencyId, balance]) => ({
    ...balance,
    currencyId,
    state: states[currencyId] ?? { name: 'idle' },
    byWallet: isPaidByWallet(balance.method),
    pay: () => pay(currencyId, balance),
  }));
  return { ...query, balances };
}
