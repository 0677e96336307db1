import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { clockQuery, clocksQuery } from '@/features/console/queries';
import { TestClocks } from '@/features/console/test-clocks';
import { livemode } from '@/lib/livemode';
import { isAdmin } from '@/lib/roles';

interface ClockSearch {
  /** The selected clock. */
  id?: string;
}

export const Route = createFileRoute('/_auth/console/test-clocks')({
  validateSearch: (raw: Record<string, unknown>): ClockSearch => ({
    id: typeof raw.id === 'string' && raw.id ? raw.id.slice(0, 100) : undefined,
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps: { id } }) => {
    if (!isAdmin(user) || livemode()) return;
    await Promise.all([queryClient.prefetchQuery(clocksQuery), id && queryClient.prefetchQuery(clockQuery(id))]);
  },
  component: Clocks,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Clocks() {
  return <TestClocks {...Route.useSearch()} />;
}
