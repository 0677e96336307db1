import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { PaymentMethodsPage } from '@/features/console/payment-methods-page';
import { methodsQuery } from '@/features/console/queries';
import { isAdmin } from '@/lib/roles';

export const Route = createFileRoute('/_auth/console/payment-methods/')({
  loader: async ({ context: { queryClient, user } }) => {
    if (isAdmin(user)) await queryClient.prefetchQuery(methodsQuery);
  },
  component: PaymentMethodsPage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});
