import { infiniteQueryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { AuditEntry, Page } from '@/api/types';

export interface AuditFilter {
  /** The DID of a user or the id of an API key. */
  actor?: string;
  actor_type?: AuditEntry['actor']['type'];
  operation?: string;
  object?: string;
}

export const ACTOR_TYPES = ['user', 'key', 'command'] as const;
const PAGE_SIZE = 30;

/** The audit log, newest first. Each page begins after the last entry of the one before. */
export const auditLogQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit-log', filter],
    queryFn: ({ pageParam }) =>
      api.get<Page<AuditEntry>>('/api/audit-log', { ...filter, limit: PAGE_SIZE, starting_after: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ list }) => (list.length === PAGE_SIZE ? list.at(-1)?.id : undefined),
    staleTime: 0,
  });
