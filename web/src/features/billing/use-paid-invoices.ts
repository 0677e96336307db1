import { useEffect, useRef } from 'react';
import { listenToRelay } from '@/api/relay';
import { useStore } from '@/app/queries';
import { debounce } from './debounce';
import { refreshBilling } from './refresh';

/**
 * Follows the events of the store: when an invoice of this customer is paid, or their paying account was topped up, the
 * page loads its billing data again. `onPaid` is called for payments only.
 */
export function usePaidInvoices(customerId: string | undefined, onPaid?: () => void): void {
  const store = useStore();
  const onPaidRef = useRef(onPaid);
  onPaidRef.current = onPaid;
  const channel = window.blocklet?.appPid ?? window.blocklet?.appId ?? store?.appPid;
  useEffect(() => {
    if (!channel || !customerId) return;
    const refresh = debounce(() => void refreshBilling());
    const stop = listenToRelay(channel, {
      onUp: () => undefined,
      onEvent: (name, { customer_id: eventCustomerId }) => {
        if (eventCustomerId !== customerId) return;
        if (name === 'invoice.paid') onPaidRef.current?.();
        else if (name !== 'subscription.recharged') return;
        refresh();
      },
    });
    return () => {
      stop();
      refresh.cancel();
    };
  }, [channel, customerId]);
}
