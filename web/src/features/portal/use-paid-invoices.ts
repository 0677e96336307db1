import { useEffect, useRef } from 'react';
import { listenToRelay } from '@/api/relay';
import { useStore } from '@/app/queries';
import { debounced } from './debounce';
import { refreshBilling } from './refresh';

/**
 * Follows the store's live events: when an invoice of this customer is paid, or funds were added for them, what is
 * shown is asked again. `onPaid` is told of payments alone.
 */
export function usePaidInvoices(customerId: string | undefined, onPaid?: () => void): void {
  const store = useStore();
  const said = useRef(onPaid);
  said.current = onPaid;
  const channel = window.blocklet?.appPid ?? window.blocklet?.appId ?? store?.appPid;
  useEffect(() => {
    if (!channel || !customerId) return;
    const refresh = debounced(() => void refreshBilling());
    const stop = listenToRelay(channel, {
      onUp: () => undefined,
      onEvent: (name, { customer_id: whose }) => {
        if (whose !== customerId) return;
        if (name === 'invoice.paid') said.current?.();
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
