import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { isDeveloper } from '@/features/publish/access-tokens';
import { OwnAppPage } from '@/features/publish/own-app-page';
import { pricingQuery } from '@/features/publish/selling';
import { uploadsQuery } from '@/features/reviews/queries';

export const Route = createFileRoute('/_auth/developer/apps/$did/')({
  validateSearch: (raw: Record<string, unknown>): { page?: number } => ({ page: pageParam(raw.page) }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, params: { did }, deps: { page } }) => {
    if (!isDeveloper(user)) return;
    await Promise.all([
      queryClient.prefetchQuery(uploadsQuery(did, page ?? 1)),
      queryClient.prefetchQuery(pricingQuery(did)),
    ]);
  },
  component: OwnApp,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function OwnApp() {
  return <OwnAppPage {...Route.useParams()} {...Route.useSearch()} />;
}
