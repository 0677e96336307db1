import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { isReviewer } from '@/features/console/console-nav';
import { ReviewPage } from '@/features/console/review-page';
import { prefetchReview } from '@/features/reviews/queries';

export const Route = createFileRoute('/_auth/console/reviews/$did/$version')({
  loader: async ({ context: { queryClient, user }, params: { did, version } }) => {
    if (isReviewer(user)) await prefetchReview(queryClient, did, version);
  },
  component: Review,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function Review() {
  return <ReviewPage {...Route.useParams()} />;
}
