import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { preferencesQuery } from '@/features/console/preferences';
import { SettingsPage } from '@/features/console/settings-page';
import { isAdmin } from '@/lib/roles';

export const Route = createFileRoute('/_auth/console/settings')({
  loader: async ({ context: { queryClient, user } }) => {
    if (isAdmin(user)) await queryClient.prefetchQuery(preferencesQuery);
  },
  component: SettingsPage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});
