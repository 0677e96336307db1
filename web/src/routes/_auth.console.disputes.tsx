import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { DisputesPage } from '@/features/console/disputes-page';
import { disputesQuery } from '@/features/console/queries';
import { isAdmin } from '@/lib/roles';

interface DisputesSearch {
  page?: number;
  /** Only undecided disputes. */
  open?: boolean;
}

export const Route = createFileRoute('/_auth/console/disputes')({
  validateSearch: (raw: Record<string, unknown>): DisputesSearch => ({
    page: pageParam(raw.page),
    open: String(raw.open) === 'true' || undefined,
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps: { page, open } }) => {
    if (isAdmin(user)) await queryClient.prefetchQuery(disputesQuery(page ?? 1, open ?? false));
  },
  component: Disputes,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Disputes() {
  return <DisputesPage {...Route.useSearch()} />;
}
