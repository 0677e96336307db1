import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { Page, QueuedVersion, UploadedApp, UploadedVersionList, VersionCheck, VersionReview } from '@/api/types';
import { categoriesQuery, queryClient } from '@/app/queries';
import type { ReviewStep } from './steps';

/** The page size of the lists of apps and versions. */
export const REVIEW_PAGE_SIZE = 20;

const segment = encodeURIComponent;
const versionPath = (did: string, version: string) => `/api/apps/${segment(did)}/versions/${segment(version)}`;

/** The uploaded apps of the signed-in developer. */
export const ownAppsQuery = (page: number) =>
  queryOptions({
    queryKey: ['reviews', 'own-apps', page],
    queryFn: () => api.get<Page<UploadedApp>>('/api/developer/apps', { page, pageSize: REVIEW_PAGE_SIZE }),
    placeholderData: keepPreviousData,
  });

/** The versions of an uploaded app, newest first. */
export const uploadsQuery = (did: string, page: number) =>
  queryOptions({
    queryKey: ['reviews', 'uploads', did, page],
    queryFn: () =>
      api.get<UploadedVersionList>(`/api/apps/${segment(did)}/uploads`, { page, pageSize: REVIEW_PAGE_SIZE }),
    placeholderData: (previous) => (previous?.app.did === did ? previous : undefined),
  });

export const QUEUES = ['open', 'decided'] as const;
export type Queue = (typeof QUEUES)[number];

/** The versions of all developers that wait for a reviewer, or those that were decided. */
export const queueQuery = (filter: Queue, page: number) =>
  queryOptions({
    queryKey: ['reviews', 'queue', filter, page],
    queryFn: () => api.get<Page<QueuedVersion>>('/api/console/reviews', { filter, page, pageSize: REVIEW_PAGE_SIZE }),
    placeholderData: keepPreviousData,
    // Other reviewers work on the same list.
    staleTime: 0,
  });

export const reviewQuery = (did: string, version: string) =>
  queryOptions({
    queryKey: ['reviews', 'version', did, version],
    queryFn: () => api.get<VersionReview>(`${versionPath(did, version)}/review`),
    staleTime: 0,
  });

export const checksQuery = (did: string, version: string) =>
  queryOptions({
    queryKey: ['reviews', 'checks', did, version],
    queryFn: () => api.get<{ list: VersionCheck[] }>(`${versionPath(did, version)}/checks`),
  });

/** Loads what the page of a version shows. */
export async function prefetchReview(client: QueryClient, did: string, version: string): Promise<void> {
  await Promise.all([
    client.prefetchQuery(reviewQuery(did, version)),
    client.prefetchQuery(checksQuery(did, version)),
    client.prefetchQuery(categoriesQuery),
  ]);
}

export const runChecks = (did: string, version: string) =>
  api.post<{ list: VersionCheck[] }>(`${versionPath(did, version)}/checks`, {});

/** A step with what it says. */
export interface StepInput {
  step: ReviewStep;
  comment?: string;
  category_id?: string | null;
  review_type?: string | null;
  publish_at?: string;
}

export const takeStep = ({ app, version }: Pick<VersionReview, 'app' | 'version'>, input: StepInput) =>
  api.put<VersionReview>(`${versionPath(app.did, version.version)}/review`, input);

/** Loads everything about reviews again, and after a publication also the pages of the store. */
export function reloadReviews(isPublished = false): void {
  void queryClient.invalidateQueries({ queryKey: ['reviews'] });
  if (!isPublished) return;
  void queryClient.invalidateQueries({ queryKey: ['apps'] });
  void queryClient.invalidateQueries({ queryKey: ['categories'] });
}
