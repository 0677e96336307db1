import { useCallback, useEffect, useState } from 'react';
import { useOverduePayments } from '@/features/overdue/use-overdue-payments';
import { useRelayRefresh } from '@/features/overdue/use-relay-refresh';
import { translateError } from '@/i18n/translate';
import { announce } from '@/kit/announce';
import type { Overdue } from '../types';
import { fetchOverdue } from './calls';
import { t } from './text';

export type OverdueState = { name: 'loading' } | { name: 'error'; text: string } | { name: 'ready'; overdue: Overdue };

interface OverdueInput {
  owner: string;
  appPid: string | undefined;
  onPaid: () => void;
}

/** The overdue balances of a customer, and their payments. */
export function useOverdue({ owner, appPid, onPaid }: OverdueInput) {
  const [overdue, setOverdue] = useState<Overdue>();
  const [error, setError] = useState<string | null>(null);
  const refetch = useCallback(
    () => fetchOverdue(owner).then(setOverdue, (failure: unknown) => setError(translateError(failure))),
    [owner],
  );
  useEffect(() => void refetch(), [refetch]);

  const { shown, paymentOf, pay } = useOverduePayments({
    overdue,
    refetch,
    requestOf: (currencyId) => ({
      title: t('overdue.connect'),
      extraParams: { currencyId, customerId: overdue?.customer?.id ?? owner },
    }),
    onSettled: () => announce(t('overdue.paid')),
    onPaid,
  });

  // Invoices can be paid elsewhere. Before the first response this customer's id is unknown.
  const customerId = overdue?.customer?.id;
  useRelayRefresh({
    appPid,
    refresh: () => void refetch(),
    onEvent: (name, { customer_id: eventCustomerId }) =>
      name === 'invoice.paid' && (!customerId || eventCustomerId === customerId),
  });

  const retry = () => {
    setError(null);
    void refetch();
  };
  // A balance that was loaded stays visible when a later request fails.
  const failed: OverdueState = error === null ? { name: 'loading' } : { name: 'error', text: error };
  const state: OverdueState = shown ? { name: 'ready', overdue: shown } : failed;
  return { state, paymentOf, pay, retry };
}
