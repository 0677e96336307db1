import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { PaymentMethodPage } from '@/features/console/payment-method-page';
import { methodQuery } from '@/features/console/queries';
import { isAdmin } from '@/lib/roles';

export const Route = createFileRoute('/_auth/console/payment-methods/$id')({
  loader: async ({ context: { queryClient, user }, params: { id } }) => {
    if (isAdmin(user)) await queryClient.prefetchQuery(methodQuery(id));
  },
  component: Method,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Method() {
  return <PaymentMethodPage {...Route.useParams()} />;
}
