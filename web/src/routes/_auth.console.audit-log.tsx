import { createFileRoute } from '@tanstack/react-router';
import { PageSkeleton } from '@/app/page-skeleton';
import { AuditLogPage } from '@/features/console/audit-log-page';
import { ACTOR_TYPES, type AuditFilter, auditLogQuery } from '@/features/console/audit-queries';
import { isAdmin } from '@/lib/roles';

const text = (value: unknown) => (typeof value === 'string' && value ? value.slice(0, 100) : undefined);

export const Route = createFileRoute('/_auth/console/audit-log')({
  validateSearch: (raw: Record<string, unknown>): AuditFilter => ({
    actor: text(raw.actor),
    actor_type: ACTOR_TYPES.find((type) => type === raw.actor_type),
    operation: text(raw.operation),
    object: text(raw.object),
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient, user }, deps }) => {
    if (isAdmin(user)) await queryClient.prefetchInfiniteQuery(auditLogQuery(deps));
  },
  component: AuditLog,
  pendingComponent: PageSkeleton,
  pendingMs: 0,
  pendingMinMs: 0,
});

function AuditLog() {
  return <AuditLogPage filter={Route.useSearch()} />;
}
