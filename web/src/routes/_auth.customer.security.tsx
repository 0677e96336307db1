import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { erasureQuery, loginsQuery } from '@/features/account/queries';
import { SecurityPage } from '@/features/account/security-page';

export const Route = createFileRoute('/_auth/customer/security')({
  loader: async ({ context: { queryClient, user } }) => {
    if (user) await Promise.all([queryClient.prefetchQuery(loginsQuery), queryClient.prefetchQuery(erasureQuery)]);
  },
  component: SecurityPage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});
