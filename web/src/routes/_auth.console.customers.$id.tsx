import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import {
  balanceTransactionsQuery,
  customerBalanceQuery,
  PAGE_SIZES,
  prefetchInvoices,
} from '@/features/billing/queries';
import { CustomerPage } from '@/features/console/customer-page';
import { customerPageQuery, customerSubscriptionsQuery } from '@/features/console/queries';
import { isAdmin } from '@/lib/roles';

interface CustomerSearch {
  page?: number;
  pageSize?: number;
}

export const Route = createFileRoute('/_auth/console/customers/$id')({
  validateSearch: (raw: Record<string, unknown>): CustomerSearch => ({
    page: pageParam(raw.page),
    pageSize: PAGE_SIZES.find((size) => size === Number(raw.pageSize)),
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, params: { id }, deps: { page, pageSize } }) => {
    if (!isAdmin(user)) return;
    const customer = await queryClient.ensureQueryData(customerPageQuery(id)).catch(() => null);
    if (!customer) return;
    await Promise.all([
      queryClient.prefetchQuery(customerBalanceQuery({ customerId: customer.id })),
      queryClient.prefetchInfiniteQuery(balanceTransactionsQuery({ customerId: customer.id })),
      queryClient.prefetchQuery(customerSubscriptionsQuery(customer.id)),
      prefetchInvoices(queryClient, { customerId: customer.id }, page, pageSize),
    ]);
  },
  component: Customer,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Customer() {
  return <CustomerPage {...Route.useParams()} {...Route.useSearch()} />;
}
