import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { blockedDigestsQuery } from '@/features/console/blocked-digests';
import { BlockedDigestsPage } from '@/features/console/blocked-digests-page';
import { isAdmin } from '@/lib/roles';

interface BlockedDigestsSearch {
  keyword?: string;
  page?: number;
}

export const Route = createFileRoute('/_auth/console/blocked-digests')({
  validateSearch: (raw: Record<string, unknown>): BlockedDigestsSearch => ({
    keyword: typeof raw.keyword === 'string' && raw.keyword ? raw.keyword.slice(0, 100) : undefined,
    page: pageParam(raw.page),
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps: { keyword, page } }) => {
    if (isAdmin(user)) await queryClient.prefetchQuery(blockedDigestsQuery(keyword, page ?? 1));
  },
  component: BlockedDigests,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function BlockedDigests() {
  return <BlockedDigestsPage {...Route.useSearch()} />;
}
