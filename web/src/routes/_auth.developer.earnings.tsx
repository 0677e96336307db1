import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { EarningsPage } from '@/features/publish/earnings-page';
import { earningsQuery, ownPayoutsQuery } from '@/features/publish/selling';

interface EarningsSearch {
  page?: number;
  /** The payouts instead of the apps. */
  payouts?: boolean;
}

export const Route = createFileRoute('/_auth/developer/earnings')({
  validateSearch: (raw: Record<string, unknown>): EarningsSearch => ({
    page: pageParam(raw.page),
    payouts: String(raw.payouts) === 'true' || undefined,
  }),
  loaderDeps: ({ search }) => search,
  // Shares may belong to users without a developer passport.
  loader: async ({ context: { queryClient, user }, deps: { page = 1, payouts } }) => {
    if (!user) return;
    if (payouts) await queryClient.prefetchQuery(ownPayoutsQuery(page));
    else await queryClient.prefetchQuery(earningsQuery(page));
  },
  component: Earnings,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Earnings() {
  return <EarningsPage {...Route.useSearch()} />;
}
