import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { payablesQuery, payoutsQuery } from '@/features/console/payables';
import { PayablesPage } from '@/features/console/payables-page';

interface PayablesSearch {
  page?: number;
  /** The payouts instead of what is payable. */
  payouts?: boolean;
}

export const Route = createFileRoute('/_auth/console/payables')({
  validateSearch: (raw: Record<string, unknown>): PayablesSearch => ({
    page: pageParam(raw.page),
    payouts: String(raw.payouts) === 'true' || undefined,
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps: { page = 1, payouts } }) => {
    if (user?.role !== 'owner') return;
    if (payouts) await queryClient.prefetchQuery(payoutsQuery(page));
    else await queryClient.prefetchQuery(payablesQuery(page));
  },
  component: Payables,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Payables() {
  return <PayablesPage {...Route.useSearch()} />;
}
