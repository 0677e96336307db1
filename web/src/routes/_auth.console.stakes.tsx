import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { stakesQuery } from '@/features/console/queries';
import { StakesPage } from '@/features/console/stakes-page';
import { isAdmin } from '@/lib/roles';

interface StakesSearch {
  page?: number;
  /** Only stakes whose transfers keep failing. */
  attention?: boolean;
}

export const Route = createFileRoute('/_auth/console/stakes')({
  validateSearch: (raw: Record<string, unknown>): StakesSearch => ({
    page: pageParam(raw.page),
    attention: String(raw.attention) === 'true' || undefined,
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps: { page, attention } }) => {
    if (isAdmin(user)) await queryClient.prefetchQuery(stakesQuery(page ?? 1, attention ?? false));
  },
  component: Stakes,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Stakes() {
  return <StakesPage {...Route.useSearch()} />;
}
