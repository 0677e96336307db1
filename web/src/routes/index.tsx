import { createFileRoute } from '@tanstack/react-router';
import { categoriesQuery } from '@/app/queries';
import { Listing } from '@/features/store/listing';
import { listingSearch, shelvesQuery } from '@/features/store/queries';

export const Route = createFileRoute('/')({
  validateSearch: listingSearch,
  loader: ({ context }) => {
    void context.queryClient.prefetchQuery(categoriesQuery);
    void context.queryClient.prefetchQuery(shelvesQuery);
  },
  component: Home,
});

function Home() {
  return <Listing home search={Route.useSearch()} />;
}
