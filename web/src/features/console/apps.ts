import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { AppState, ManagedApp, Page, ReviewType, VersionStatus } from '@/api/types';
import { queryClient } from '@/app/queries';
import type { StepSubject } from '@/features/reviews/steps';
import { CONSOLE_PAGE_SIZE } from './queries';

const PATH = '/api/console/apps';

export const APP_STATES = ['available', 'unpublished', 'blocked', 'withdrawn'] as const satisfies readonly AppState[];
export const VERSION_STATUSES = [
  'DRAFT',
  'PENDING_REVIEW',
  'IN_REVIEW',
  'APPROVED',
  'REJECTED',
  'PUBLISHED',
  'CANCELLED',
] as const satisfies readonly VersionStatus[];

export interface AppsFilter {
  keyword?: string;
  /** Where the app is. */
  state?: AppState;
  /** Of its latest version. */
  status?: VersionStatus;
  category_id?: string;
}

export const isFiltered = ({ keyword, state, status, category_id }: AppsFilter): boolean =>
  Boolean(keyword || state || status || category_id);

/** All apps, those that were updated last first. */
export const managedAppsQuery = ({ keyword, state, status, category_id }: AppsFilter, page: number) =>
  queryOptions({
    queryKey: ['console', 'apps', page, { keyword, state, status, category_id }],
    queryFn: () =>
      api.get<Page<ManagedApp>>(PATH, { keyword, state, status, category_id, page, pageSize: CONSOLE_PAGE_SIZE }),
    placeholderData: keepPreviousData,
    // Developers and other administrators work on the same list.
    staleTime: 0,
  });

export interface AppCategory {
  category_id: string;
  /** null: as before. */
  review_type: ReviewType | null;
}

export const setAppCategory = (did: string, category: AppCategory) =>
  api.put<ManagedApp>(`${PATH}/${encodeURIComponent(did)}/category`, category);

/** Loads everything that shows apps again, on the pages of the store as well. */
export function reloadApps(): void {
  for (const queryKey of [['console', 'apps'], ['console', 'categories'], ['reviews'], ['apps'], ['categories']])
    void queryClient.invalidateQueries({ queryKey });
}

/** What the steps of a review need of an app that has this name in dialogs; null: it was not uploaded, so that there are none. */
export const stepSubject = ({ did, category_id, review_type, latest }: ManagedApp, name: string): StepSubject | null =>
  latest ? { app: { did, name, category_id, review_type }, version: { version: latest.version } } : null;
