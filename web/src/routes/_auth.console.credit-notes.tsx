import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { pageParam } from '@/app/search-params';
import { CreditNotesPage } from '@/features/console/credit-notes-page';
import { creditNotesQuery } from '@/features/console/queries';
import { isAdmin } from '@/lib/roles';

interface CreditNotesSearch {
  page?: number;
}

export const Route = createFileRoute('/_auth/console/credit-notes')({
  validateSearch: (raw: Record<string, unknown>): CreditNotesSearch => ({ page: pageParam(raw.page) }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps: { page } }) => {
    if (isAdmin(user)) await queryClient.prefetchQuery(creditNotesQuery(page ?? 1));
  },
  component: CreditNotes,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function CreditNotes() {
  return <CreditNotesPage {...Route.useSearch()} />;
}
