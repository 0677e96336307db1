import { queryClient } from '@/app/queries';
import { BILLING_KEYS, FUNDS_KEY } from './queries';

/** Asks again for everything that money touches; resolves when what the store itself knows of it is fresh. */
export function refreshBilling(): Promise<void> {
  void queryClient.invalidateQueries({ queryKey: [FUNDS_KEY] });
  return queryClient.invalidateQueries({ predicate: ({ queryKey }) => BILLING_KEYS.includes(String(queryKey[0])) });
}

/** How long a network or a bank takes, at times, to tell the store what it told the wallet or the card form. */
const WORD_MS = 2500;

/** Asks at once and, because the store may hear of it a moment later, once more. */
export function refreshAfterPayment(): Promise<void> {
  setTimeout(() => void refreshBilling(), WORD_MS);
  return refreshBilling();
}
