import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { oneOf } from '@/app/search-params';
import { invoiceQuery, refundsQuery } from '@/features/billing/queries';
import { InvoicePage } from '@/features/portal/invoice-page';

interface InvoiceSearch {
  action?: 'pay' | 'renew';
}

export const Route = createFileRoute('/_auth/customer/invoice/$id')({
  validateSearch: (raw: Record<string, unknown>): InvoiceSearch => ({
    action: oneOf(['pay', 'renew'] as const, raw.action),
  }),
  loader: async ({ context: { queryClient, user }, params: { id } }) => {
    if (!user) return;
    await Promise.all([queryClient.prefetchQuery(invoiceQuery(id)), queryClient.prefetchQuery(refundsQuery(id))]);
  },
  component: Invoice,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Invoice() {
  return <InvoicePage {...Route.useParams()} {...Route.useSearch()} />;
}
