import { createFileRoute } from '@tanstack/react-router';
import { categoriesQuery } from '@/app/queries';
import { Listing } from '@/features/store/listing';
import { appsQuery, listingSearch } from '@/features/store/queries';

export const Route = createFileRoute('/category/$category')({
  validateSearch: listingSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps, params }) => {
    void context.queryClient.prefetchQuery(categoriesQuery);
    void context.queryClient.prefetchQuery(appsQuery(deps, params.category));
  },
  component: CategoryPage,
});

function CategoryPage() {
  return <Listing search={Route.useSearch()} category={Route.useParams().category} />;
}
