import { useStore } from '@/app/queries';
import { useRelayRefresh } from '@/features/overdue/use-relay-refresh';
import { refreshBilling } from './refresh';

/**
 * Follows the events of the store: when an invoice of this customer is paid, or their paying account was topped up, the
 * page loads its billing data again. `onPaid` is called for payments only.
 */
export function usePaidInvoices(customerId: string | undefined, onPaid?: () => void): void {
  useRelayRefresh({
    appPid: useStore()?.appPid,
    enabled: Boolean(customerId),
    refresh: () => void refreshBilling(),
    onEvent: (name, { customer_id: eventCustomerId }) => {
      if (eventCustomerId !== customerId) return false;
      if (name === 'invoice.paid') onPaid?.();
      return name === 'invoice.paid' || name === 'subscription.recharged';
    },
  });
}
