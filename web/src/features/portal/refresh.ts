import { queryClient } from '@/app/queries';
import { BILLING_KEYS } from './queries';

/** Asks again for everything that money touches; resolves when what is shown is fresh. */
export const refreshBilling = () =>
  queryClient.invalidateQueries({ predicate: ({ queryKey }) => BILLING_KEYS.includes(String(queryKey[0])) });
