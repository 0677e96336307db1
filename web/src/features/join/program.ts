import { queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { DeveloperProgram } from '@/api/types';
import { queryClient, sessionQuery } from '@/app/queries';

/** How the store accepts developers, and where the signed-in user stands. */
export const programQuery = queryOptions({
  queryKey: ['developer-program'],
  queryFn: () => api.get<DeveloperProgram>('/api/developer-program'),
  staleTime: 0,
});

export const agreeToTerms = (version: number) =>
  api.post<DeveloperProgram>('/api/developer-program/agreement', { version });

export const leaveDevelopers = () => api.delete<DeveloperProgram>('/api/developer-program/membership');

/** Reads the roles of the user again, which the deposit has changed. */
export async function reloadStanding(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: programQuery.queryKey }),
    queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey }),
  ]);
}

/** Whether users become developers by a deposit. */
export const isOpenToAll = (program: Pick<DeveloperProgram, 'permission_mode'> | undefined): boolean =>
  program?.permission_mode === 'staking';

/** What the page offers to a user, or to a visitor. */
export type JoinState = 'blocked' | 'developer' | 'returning' | 'unavailable' | 'open';

export function joinState({ membership, standing }: DeveloperProgram): JoinState {
  if (standing?.blocked) return 'blocked';
  if (standing?.developer_since) return 'developer';
  const deposit = standing?.deposit;
  // A revoked deposit can be replaced at once; its payer claims it in the wallet.
  if (deposit?.status === 'releasing' && deposit.release_reason !== 'revoked') return 'returning';
  return membership ? 'open' : 'unavailable';
}
