import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { categoriesQuery } from '@/app/queries';
import { oneOf, pageParam } from '@/app/search-params';
import { APP_STATES, type AppsFilter, managedAppsQuery, VERSION_STATUSES } from '@/features/console/apps';
import { AppsPage } from '@/features/console/apps-page';
import { isAdmin } from '@/lib/roles';

interface AppsSearch extends AppsFilter {
  page?: number;
}

export const Route = createFileRoute('/_auth/console/apps')({
  validateSearch: (raw: Record<string, unknown>): AppsSearch => ({
    keyword: typeof raw.keyword === 'string' && raw.keyword ? raw.keyword.slice(0, 500) : undefined,
    state: oneOf(APP_STATES, raw.state),
    status: oneOf(VERSION_STATUSES, raw.status),
    category_id:
      typeof raw.category_id === 'string' && /^cat_[\w-]{1,60}$/.test(raw.category_id) ? raw.category_id : undefined,
    page: pageParam(raw.page),
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps: { page, ...filter } }) => {
    if (isAdmin(user))
      await Promise.all([
        queryClient.prefetchQuery(managedAppsQuery(filter, page ?? 1)),
        queryClient.prefetchQuery(categoriesQuery),
      ]);
  },
  component: Apps,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Apps() {
  return <AppsPage {...Route.useSearch()} />;
}
