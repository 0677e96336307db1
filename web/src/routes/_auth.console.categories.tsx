import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { managedCategoriesQuery } from '@/features/console/categories';
import { CategoriesPage } from '@/features/console/categories-page';
import { isAdmin } from '@/lib/roles';

export const Route = createFileRoute('/_auth/console/categories')({
  loader: async ({ context: { queryClient, user } }) => {
    if (isAdmin(user)) await queryClient.prefetchQuery(managedCategoriesQuery);
  },
  component: CategoriesPage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});
