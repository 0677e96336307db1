import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query';
import { api, apiUrl } from '@/api/client';
import type {
  AppDeposit,
  DeveloperApp,
  Page,
  QueuedVersion,
  UploadedVersionList,
  VersionCheck,
  VersionComparison,
  VersionReview,
} from '@/api/types';
import { categoriesQuery, queryClient } from '@/app/queries';
import type { ReviewStep, StepSubject } from './steps';

/** The page size of the lists of apps and versions. */
export const REVIEW_PAGE_SIZE = 20;

/** How often a page without the list of files asks for it. */
const FILES_POLL_MS = 30_000;

const segment = encodeURIComponent;
const versionPath = (did: string, version: string) => `/api/apps/${segment(did)}/versions/${segment(version)}`;

/** The uploaded apps of the signed-in developer. */
export const ownAppsQuery = (page: number) =>
  queryOptions({
    queryKey: ['reviews', 'own-apps', page],
    queryFn: () => api.get<Page<DeveloperApp>>('/api/developer/apps', { page, pageSize: REVIEW_PAGE_SIZE }),
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

/** What differs between a version and the published one. */
export const comparisonQuery = (did: string, version: string) =>
  queryOptions({
    queryKey: ['reviews', 'comparison', did, version],
    queryFn: () => api.get<VersionComparison>(`${versionPath(did, version)}/comparison`),
    // The checks list the files.
    refetchInterval: ({ state }) => state.data?.files === null && FILES_POLL_MS,
  });

/** A picture of a version that may not be published. */
export const pictureUrl = (did: string, version: string, sha256: string) =>
  apiUrl(`${versionPath(did, version)}/pictures/${segment(sha256)}`);

/** Loads what the page of a version shows. */
export async function prefetchReview(client: QueryClient, did: string, version: string): Promise<void> {
  await Promise.all([
    client.prefetchQuery(reviewQuery(did, version)),
    client.prefetchQuery(checksQuery(did, version)),
    client.prefetchQuery(comparisonQuery(did, version)),
    client.prefetchQuery(categoriesQuery),
  ]);
}

/** The deposit for an app, for its developer and for those who moderate it. */
export const appDepositQuery = (did: string) =>
  queryOptions({
    queryKey: ['reviews', 'deposit', did],
    queryFn: () => api.get<AppDeposit>(`/api/apps/${segment(did)}/deposit`),
    staleTime: 0,
  });

export const takeBackDeposit = (did: string) => api.delete<AppDeposit>(`/api/apps/${segment(did)}/deposit`);

export const runChecks = (did: string, version: string) =>
  api.post<{ list: VersionCheck[] }>(`${versionPath(did, version)}/checks`, {});

/** A step with what it says. */
export interface StepInput {
  step: ReviewStep;
  comment?: string;
  category_id?: string | null;
  review_type?: string | null;
  publish_at?: string;
  /** Only with `block`: the store also keeps the deposit for the app. */
  forfeit_deposit?: boolean;
}

/** To keep the deposit of a blocked app is to block it again, for a reason that the developer reads. */
const sentStep = (input: StepInput) =>
  input.step === 'keep_deposit' ? { ...input, step: 'block', forfeit_deposit: true } : input;

export const takeStep = ({ app, version }: StepSubject, input: StepInput) =>
  api.put<VersionReview>(`${versionPath(app.did, version.version)}/review`, sentStep(input));

/** Loads everything about reviews again, and after a publication also the pages of the store. */
export function reloadReviews(isPublished = false): void {
  void queryClient.invalidateQueries({ queryKey: ['reviews'] });
  if (!isPublished) return;
  void queryClient.invalidateQueries({ queryKey: ['apps'] });
  void queryClient.invalidateQueries({ queryKey: ['categories'] });
}
