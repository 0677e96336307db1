import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { oneOf, pageParam } from '@/app/search-params';
import { isReviewer } from '@/features/console/console-nav';
import { ReviewsPage } from '@/features/console/reviews-page';
import { QUEUES, type Queue, queueQuery } from '@/features/reviews/queries';

interface ReviewsSearch {
  filter?: Queue;
  page?: number;
}

export const Route = createFileRoute('/_auth/console/reviews/')({
  validateSearch: (raw: Record<string, unknown>): ReviewsSearch => ({
    filter: oneOf(QUEUES, raw.filter),
    page: pageParam(raw.page),
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps: { filter, page } }) => {
    if (isReviewer(user)) await queryClient.prefetchQuery(queueQuery(filter ?? 'open', page ?? 1));
  },
  component: Reviews,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Reviews() {
  return <ReviewsPage {...Route.useSearch()} />;
}
