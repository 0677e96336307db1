import { QueryCache, QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { api, embeddedStore, fetchStore } from '@/api/client';
import { ApiError } from '@/api/error';
import { fetchSession } from '@/api/session';
import type { Category, Page } from '@/api/types';
import { syncToSpace } from './space';

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    // The session has ended: refetch it, so that RequireAuth asks the user to sign in.
    onError: (error) => {
      if (error instanceof ApiError && error.status === 401)
        void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // Retry network errors and server errors only; a client error would repeat.
      retry: (failures, error) => failures < 1 && !(error instanceof ApiError && error.status < 500),
      retryDelay: 600,
    },
  },
});

export const storeQuery = queryOptions({
  queryKey: ['store'],
  queryFn: fetchStore,
  initialData: embeddedStore,
  staleTime: Number.POSITIVE_INFINITY,
});
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async () => {
    const session = await fetchSession();
    if (session.user) void syncToSpace(session.user);
    return session;
  },
  staleTime: 60_000,
});

/** The categories of the store, for its pages and for the app that a version belongs to. */
export const categoriesQuery = queryOptions({
  queryKey: ['categories'],
  queryFn: () => api.get<Page<Category>>('/api/categories'),
  staleTime: 5 * 60_000,
});

export const useStore = () => useQuery(storeQuery).data;

/** The user, null for a visitor, undefined while the session loads. */
export function useUser() {
  const { data, isError } = useQuery(sessionQuery);
  // A failed refetch keeps the previous data.
  if (isError && !data) return null;
  return data?.user;
}

/** The error of the session request and a retry function; null if there is none or a request is running. */
export function useSessionError(): { error: Error; retry: () => void } | null {
  const { error, isFetching, refetch } = useQuery(sessionQuery);
  return error && !isFetching ? { error, retry: () => void refetch() } : null;
}
