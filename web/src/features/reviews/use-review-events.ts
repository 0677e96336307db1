import { useStore } from '@/app/queries';
import { useRelayRefresh } from '@/features/overdue/use-relay-refresh';
import { reloadReviews } from './queries';

/** Loads the data of the page again after each step of a review of an app; without `did`, of any app that the user sees. */
export function useReviewEvents(did?: string): void {
  useRelayRefresh({
    appPid: useStore()?.appPid,
    // A step can also change what visitors see.
    refresh: () => reloadReviews(true),
    onEvent: (name, { blockletId }) => name === 'blocklet.reviewed' && (did === undefined || blockletId === did),
  });
}
