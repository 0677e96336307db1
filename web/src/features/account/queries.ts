import { queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { Login, Page } from '@/api/types';

/** The browsers in which the user is signed in. */
export const loginsQuery = queryOptions({
  queryKey: ['session', 'logins'],
  queryFn: () => api.get<Page<Login>>('/api/session/logins'),
});

interface Erasure {
  /** What stands in the way, by code. */
  obstacles: string[];
}

export const erasureQuery = queryOptions({
  queryKey: ['customers', 'me', 'erasure'],
  queryFn: () => api.get<Erasure>('/api/customers/me/erasure'),
  staleTime: 0,
});
