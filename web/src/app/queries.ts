import { QueryCache, QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { fetchStore, knownStore } from '@/api/client';
import { ApiError } from '@/api/error';
import { fetchSession } from '@/api/session';

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    // A session that ended meanwhile: ask who is there, and what is guarded asks to connect.
    onError: (error) => {
      if (error instanceof ApiError && error.status === 401)
        void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // What the server refused it will refuse again; only silence and its own faults are worth a second try.
      retry: (failures, error) => failures < 1 && !(error instanceof ApiError && error.status < 500),
      retryDelay: 600,
    },
  },
});

export const storeQuery = queryOptions({
  queryKey: ['store'],
  queryFn: fetchStore,
  initialData: knownStore,
  staleTime: Number.POSITIVE_INFINITY,
});
export const sessionQuery = queryOptions({ queryKey: ['session'], queryFn: fetchSession, staleTime: 60_000 });

export const useStore = () => useQuery(storeQuery).data;

/** The user, null for a visitor, undefined until the session is known. */
export function useUser() {
  const { data, isError } = useQuery(sessionQuery);
  // An answer of before still holds.
  if (isError && !data) return null;
  return data?.user;
}

/** Why it is not known who is there, and the way to ask again; null where it is known, or being asked. */
export function useSessionFault(): { error: Error; retry: () => void } | null {
  const { error, isFetching, refetch } = useQuery(sessionQuery);
  return error && !isFetching ? { error, retry: () => void refetch() } : null;
}
