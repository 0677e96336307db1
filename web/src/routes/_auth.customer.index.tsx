import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { ContactForm } from '@/features/account/contact-form';
import {
  balanceTransactionsQuery,
  customerBalanceQuery,
  customerQuery,
  entitlementsQuery,
  overdueQuery,
  PAGE_SIZES,
  paymentsQuery,
  prefetchInvoices,
  subscriptionsQuery,
} from '@/features/billing/queries';
import { Portal } from '@/features/portal/portal';

interface PortalSearch {
  page?: number;
  pageSize?: number;
}

export const Route = createFileRoute('/_auth/customer/')({
  validateSearch: (raw: Record<string, unknown>): PortalSearch => ({
    page: pageParam(raw.page),
    pageSize: PAGE_SIZES.find((size) => size === Number(raw.pageSize)),
  }),
  loaderDeps: ({ search }) => search,
  // A failed query does not block the page: its section shows the error.
  loader: async ({ context: { queryClient, user }, deps: { page, pageSize } }) => {
    if (!user) return;
    await Promise.all([
      queryClient.prefetchQuery(subscriptionsQuery),
      queryClient.prefetchQuery(overdueQuery({ customerId: user.did })),
      queryClient.prefetchQuery(entitlementsQuery),
      queryClient.prefetchInfiniteQuery(paymentsQuery),
      queryClient.prefetchQuery(customerQuery),
      queryClient.prefetchQuery(customerBalanceQuery('me')),
      queryClient.prefetchInfiniteQuery(balanceTransactionsQuery('me')),
      prefetchInvoices(queryClient, {}, page, pageSize),
    ]);
  },
  component: PortalPage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function PortalPage() {
  return <Portal {...Route.useSearch()} details={<ContactForm />} />;
}
