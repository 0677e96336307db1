import { api } from '@/api/client';
import type { SessionUser } from '@/api/types';
import { store, stored } from '@/lib/storage';

const HOUR_MS = 3_600_000;

/** When the store was last asked, in milliseconds, for each user. */
const keyOf = (did: string) => `space-sync-${did}`;

/**
 * Asks the store to copy the user's orders to their space, at most once an hour. If nothing was copied, the next page
 * asks again (payment-kit.md 1.2). Without a space nothing is asked. Never fails.
 */
export async function syncToSpace({ did, didSpace }: Pick<SessionUser, 'did' | 'didSpace'>): Promise<void> {
  if (!didSpace) return;
  const key = keyOf(did);
  const age = Date.now() - Number(stored(key) ?? Number.NaN);
  if (age >= 0 && age < HOUR_MS) return;
  store(key, String(Date.now()));
  const answer = await api.post<{ success: boolean }>('/api/customers/sync-to-space').catch(() => undefined);
  if (!answer?.success) store(key, null);
}
