import { queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { Device, Login, Page } from '@/api/types';

/** The browsers in which the user is signed in. */
export const loginsQuery = queryOptions({
  queryKey: ['session', 'logins'],
  queryFn: () => api.get<Page<Login>>('/api/session/logins'),
});

/** The computers on which the user is signed in with the command line. */
export const devicesQuery = queryOptions({
  queryKey: ['devices'],
  queryFn: () => api.get<Page<Device>>('/api/devices'),
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
