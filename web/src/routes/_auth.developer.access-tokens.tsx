import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { accessTokensQuery, isDeveloper } from '@/features/publish/access-tokens';
import { AccessTokensPage } from '@/features/publish/access-tokens-page';
import { trustedPublishersQuery } from '@/features/publish/trusted-publishers';

export const Route = createFileRoute('/_auth/developer/access-tokens')({
  loader: async ({ context: { queryClient, user } }) => {
    if (isDeveloper(user))
      await Promise.all([
        queryClient.prefetchQuery(accessTokensQuery),
        queryClient.prefetchQuery(trustedPublishersQuery),
      ]);
  },
  component: AccessTokensPage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});
