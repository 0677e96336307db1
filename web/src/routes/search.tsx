import { createFileRoute } from '@tanstack/react-router';
import { categoriesQuery } from '@/app/queries';
import { Listing } from '@/features/store/listing';
import { appsQuery, listingSearch } from '@/features/store/queries';

export const Route = createFileRoute('/search')({
  validateSearch: listingSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    void context.queryClient.prefetchQuery(categoriesQuery);
    void context.queryClient.prefetchQuery(appsQuery(deps));
  },
  component: Search,
});

function Search() {
  return <Listing search={Route.useSearch()} />;
}
