import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { loadSubscriptionPage, PAGE_SIZES } from '@/features/billing/queries';
import { AdminSubscriptionPage } from '@/features/console/subscription-page';

interface SubscriptionSearch {
  page?: number;
  pageSize?: number;
}

export const Route = createFileRoute('/_auth/console/subscriptions/$id')({
  validateSearch: (raw: Record<string, unknown>): SubscriptionSearch => ({
    page: pageParam(raw.page),
    pageSize: PAGE_SIZES.find((size) => size === Number(raw.pageSize)),
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, params: { id }, deps: { page, pageSize } }) => {
    if (user) await loadSubscriptionPage(queryClient, id, page, pageSize);
  },
  component: Subscription,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Subscription() {
  return <AdminSubscriptionPage {...Route.useSearch()} {...Route.useParams()} />;
}
