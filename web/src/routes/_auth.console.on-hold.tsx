import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { OnHoldPage } from '@/features/console/on-hold-page';
import { onHoldQuery, paymentsOnHoldQuery } from '@/features/console/queries';
import { isAdmin } from '@/lib/roles';

export const Route = createFileRoute('/_auth/console/on-hold')({
  validateSearch: (raw: Record<string, unknown>): { page?: number } => ({ page: pageParam(raw.page) }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps: { page } }) => {
    // Both lists: a link to the payments scrolls to them only if they are on the page from the start.
    if (isAdmin(user))
      await Promise.all([
        queryClient.prefetchQuery(onHoldQuery(page ?? 1)),
        queryClient.prefetchQuery(paymentsOnHoldQuery(1)),
      ]);
  },
  component: OnHold,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function OnHold() {
  return <OnHoldPage {...Route.useSearch()} />;
}
