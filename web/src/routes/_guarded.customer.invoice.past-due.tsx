import { createFileRoute } from '@tanstack/react-router';
import { PastDuePage } from '@/features/portal/past-due-page';

interface PastDueSearch {
  /** Where payment was asked for; only a page of this store counts. */
  referer?: string;
}

export const Route = createFileRoute('/_guarded/customer/invoice/past-due')({
  validateSearch: (raw: Record<string, unknown>): PastDueSearch => ({
    referer: typeof raw.referer === 'string' && raw.referer ? raw.referer.slice(0, 2000) : undefined,
  }),
  component: PastDue,
});

function PastDue() {
  return <PastDuePage {...Route.useSearch()} />;
}
