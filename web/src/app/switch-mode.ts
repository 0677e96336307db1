import { queryClient, sessionQuery, storeQuery } from '@/app/queries';
import { setLivemode } from '@/lib/livemode';

/** Test and live data are separate: everything except store and session is reloaded. */
export function switchMode(live: boolean): void {
  setLivemode(live);
  const shared = [storeQuery.queryKey[0], sessionQuery.queryKey[0]];
  void queryClient.resetQueries({ predicate: ({ queryKey }) => !shared.includes(String(queryKey[0])) });
}
