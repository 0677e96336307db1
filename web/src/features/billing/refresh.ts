import { queryClient } from '@/app/queries';
import { BALANCE_KEY, BILLING_KEYS } from './queries';

/** Loads all billing data again; resolves when the data of the store itself is fresh, without waiting for a network. */
export function refreshBilling(): Promise<void> {
  void queryClient.invalidateQueries({ queryKey: [BALANCE_KEY] });
  return queryClient.invalidateQueries({ predicate: ({ queryKey }) => BILLING_KEYS.includes(String(queryKey[0])) });
}

/** A network or a bank may confirm a payment to the store a moment after it confirmed it to the wallet or the card form. */
const CONFIRMATION_MS = 2500;

/** Loads the data at once and again after the usual delay of a confirmation. */
export function refreshAfterPayment(): Promise<void> {
  setTimeout(() => void refreshBilling(), CONFIRMATION_MS);
  return refreshBilling();
}
