import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, apiUrl } from '@/api/client';
import type { App, AppDetail, AppInstance, Page, Shelves } from '@/api/types';
import { oneOf, pageParam } from '@/app/search-params';

export const PRICES = ['free', 'paid'] as const;
export const SORTS = ['downloads', 'updated', 'created', 'name'] as const;
export const APPS_PER_PAGE = 24;

/** Search parameters of the listing; the category is part of the path. */
export interface ListingSearch {
  keyword?: string;
  price?: (typeof PRICES)[number];
  sort?: (typeof SORTS)[number];
  page?: number;
}

export function listingSearch(raw: Record<string, unknown>): ListingSearch {
  const keyword = typeof raw.keyword === 'string' ? raw.keyword.trim().slice(0, 100) : '';
  return {
    keyword: keyword || undefined,
    price: oneOf(PRICES, raw.price),
    sort: oneOf(SORTS, raw.sort),
    page: pageParam(raw.page),
  };
}

export const shelvesQuery = queryOptions({
  queryKey: ['apps', 'shelves'],
  queryFn: () => api.get<Shelves>('/api/apps/shelves'),
});

export function appsQuery(search: ListingSearch, category?: string) {
  const query = {
    ...search,
    category,
    sort: search.sort ?? 'downloads',
    page: search.page ?? 1,
    pageSize: APPS_PER_PAGE,
  };
  return queryOptions({
    queryKey: ['apps', 'list', query],
    queryFn: ({ signal }) => api.get<Page<App>>('/api/apps', query, { signal }),
    placeholderData: keepPreviousData,
  });
}

export function appQuery(did: string, version?: string) {
  return queryOptions({
    queryKey: ['apps', 'detail', did, version ?? null],
    queryFn: () => api.get<AppDetail>(`/api/apps/${encodeURIComponent(did)}`, { version }),
    placeholderData: (previous) => (previous?.did === did ? previous : undefined),
  });
}

/** The public servers on which an app runs, those that were registered last first. */
export const instancesQuery = (did: string) =>
  queryOptions({
    queryKey: ['apps', 'instances', did],
    queryFn: () => api.get<AppInstance[]>(`/api/blocklets/${encodeURIComponent(did)}/instances`),
  });

/** The download URL of a version; paid apps need the session cookie. */
export function bundleUrl(did: string, version: string): string {
  return apiUrl(`/api/apps/${encodeURIComponent(did)}/${encodeURIComponent(version)}/bundle`);
}

/** The hosted checkout is a separate page outside of this router. */
export function checkoutUrl(paymentLinkId: string): string {
  return `/checkout/pay/${encodeURIComponent(paymentLinkId)}`;
}
