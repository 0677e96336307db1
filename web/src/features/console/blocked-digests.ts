import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { BlockedDigest, ContainingVersion, Page } from '@/api/types';
import { queryClient } from '@/app/queries';
import { CONSOLE_PAGE_SIZE } from './queries';

const PATH = '/api/console/blocked-digests';
const KEY = ['console', 'blocked-digests'];

/** As that of the server (`publishing/review`), in characters. */
export const DIGEST_REASON_MAX = 255;
/** The versions that a dialog shows: those that new users can get first, then the newest. */
export const VERSIONS_SHOWN = 20;

/** Blocked files, newest first. */
export const blockedDigestsQuery = (keyword: string | undefined, page: number) =>
  queryOptions({
    queryKey: [...KEY, 'list', { keyword, page }],
    queryFn: () => api.get<Page<BlockedDigest>>(PATH, { keyword, page, pageSize: CONSOLE_PAGE_SIZE }),
    placeholderData: keepPreviousData,
    // Versions are uploaded and published meanwhile.
    staleTime: 0,
  });

/** The uploaded versions that contain a file. */
export const containingVersionsQuery = (sha256: string) =>
  queryOptions({
    queryKey: [...KEY, 'versions', sha256],
    queryFn: () => api.get<Page<ContainingVersion>>(`${PATH}/${sha256}/versions`, { pageSize: VERSIONS_SHOWN }),
    staleTime: 0,
  });

export const blockDigest = ({ sha256, reason }: Pick<BlockedDigest, 'sha256' | 'reason'>) =>
  api.put<BlockedDigest>(`${PATH}/${sha256}`, { reason });

export const unblockDigest = (sha256: string) => api.delete<void>(`${PATH}/${sha256}`);

export const reloadDigests = (): void => void queryClient.invalidateQueries({ queryKey: KEY });

/** A typed digest as the server stores it; undefined: it is none. */
export function digestOf(typed: string | undefined): string | undefined {
  const digest = (typed ?? '').trim().toLowerCase();
  return /^[0-9a-f]{64}$/.test(digest) ? digest : undefined;
}

/** The beginning and the end of a digest. */
export const shortDigest = (sha256: string): string => `${sha256.slice(0, 8)}…${sha256.slice(-6)}`;
