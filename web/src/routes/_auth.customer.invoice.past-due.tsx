import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { overdueQuery } from '@/features/billing/queries';
import { PastDuePage } from '@/features/portal/past-due-page';

interface PastDueSearch {
  /** The page to return to after payment; only pages of this store are used. */
  referer?: string;
}

export const Route = createFileRoute('/_auth/customer/invoice/past-due')({
  validateSearch: (raw: Record<string, unknown>): PastDueSearch => ({
    referer: typeof raw.referer === 'string' && raw.referer ? raw.referer.slice(0, 2000) : undefined,
  }),
  loader: async ({ context: { queryClient, user } }) => {
    if (user) await queryClient.prefetchQuery(overdueQuery({ customerId: user.did }));
  },
  component: PastDue,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function PastDue() {
  return <PastDuePage {...Route.useSearch()} />;
}
