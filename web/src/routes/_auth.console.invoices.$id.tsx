import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { invoiceQuery, refundsQuery } from '@/features/billing/queries';
import { AdminInvoicePage } from '@/features/console/invoice-page';

export const Route = createFileRoute('/_auth/console/invoices/$id')({
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
  return <AdminInvoicePage {...Route.useParams()} />;
}
