import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { developersQuery, invitationsQuery } from '@/features/console/developers';
import { DevelopersPage } from '@/features/console/developers-page';
import { isAdmin } from '@/lib/roles';

export const Route = createFileRoute('/_auth/console/developers')({
  validateSearch: (raw: Record<string, unknown>): { page?: number } => ({ page: pageParam(raw.page) }),
  loaderDeps: ({ search: { page } }) => ({ page }),
  loader: async ({ context: { queryClient, user }, deps: { page } }) => {
    if (isAdmin(user))
      await Promise.all([
        queryClient.prefetchQuery(developersQuery(page ?? 1)),
        queryClient.prefetchQuery(invitationsQuery),
      ]);
  },
  component: Developers,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Developers() {
  return <DevelopersPage {...Route.useSearch()} />;
}
