import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { isDeveloper } from '@/features/publish/access-tokens';
import { OwnAppsPage } from '@/features/publish/own-apps-page';
import { ownAppsQuery } from '@/features/reviews/queries';

export const Route = createFileRoute('/_auth/developer/apps/')({
  validateSearch: (raw: Record<string, unknown>): { page?: number } => ({ page: pageParam(raw.page) }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps: { page } }) => {
    if (isDeveloper(user)) await queryClient.prefetchQuery(ownAppsQuery(page ?? 1));
  },
  component: OwnApps,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function OwnApps() {
  return <OwnAppsPage {...Route.useSearch()} />;
}
