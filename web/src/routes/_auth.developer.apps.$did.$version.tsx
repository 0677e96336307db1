import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { isDeveloper } from '@/features/publish/access-tokens';
import { OwnVersionPage } from '@/features/publish/own-version-page';
import { prefetchReview } from '@/features/reviews/queries';

export const Route = createFileRoute('/_auth/developer/apps/$did/$version')({
  loader: async ({ context: { queryClient, user }, params: { did, version } }) => {
    if (isDeveloper(user)) await prefetchReview(queryClient, did, version);
  },
  component: OwnVersion,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function OwnVersion() {
  return <OwnVersionPage {...Route.useParams()} />;
}
