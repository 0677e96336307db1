import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { Detail } from '@/features/store/detail';
import { appQuery } from '@/features/store/queries';

export const Route = createFileRoute('/apps/$did/{-$version}')({
  loader: ({ context, params }) => void context.queryClient.prefetchQuery(appQuery(params.did, params.version)),
  component: AppPage,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
});

function AppPage() {
  const { did, version } = Route.useParams();
  return <Detail did={did} version={version} />;
}
