import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { oneOf, pageParam } from '@/app/search-params';
import { loadSubscriptionPage, PAGE_SIZES } from '@/features/billing/queries';
import { SubscriptionPage } from '@/features/portal/subscription-page';

interface SubscriptionSearch {
  page?: number;
  pageSize?: number;
  action?: 'changePayment';
}

export const Route = createFileRoute('/_auth/customer/subscription/$id')({
  validateSearch: (raw: Record<string, unknown>): SubscriptionSearch => ({
    page: pageParam(raw.page),
    pageSize: PAGE_SIZES.find((size) => size === Number(raw.pageSize)),
    action: oneOf(['changePayment'] as const, raw.action),
  }),
  loaderDeps: ({ search: { page, pageSize } }) => ({ page, pageSize }),
  loader: async ({ context: { queryClient, user }, params: { id }, deps: { page, pageSize } }) => {
    if (user) await loadSubscriptionPage(queryClient, id, page, pageSize);
  },
  component: Subscription,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Subscription() {
  return <SubscriptionPage {...Route.useSearch()} {...Route.useParams()} />;
}
