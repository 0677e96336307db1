import { queryOptions } from '@tanstack/react-query';
import { api } from '@/api/client';
import type { BlockedUser, CreatedInvitation, Invitation, Page, PassportHolder, SessionUser } from '@/api/types';
import { consoleListQuery } from './queries';

/** Everybody who holds a passport. */
export const developersQuery = (page: number) =>
  consoleListQuery<PassportHolder>('developers', '/api/console/developers', page, {});

export const invitationsQuery = queryOptions({
  queryKey: ['console', 'invitations'],
  queryFn: () => api.get<Page<Invitation>>('/api/console/invitations'),
});

export type InvitedRole = Invitation['role'];
export interface NewInvitation {
  role: InvitedRole;
  lifetime_days: number;
}
export const INVITATION_DAYS = [1, 7, 14, 30] as const;

export const createInvitation = (invitation: NewInvitation) =>
  api.post<CreatedInvitation>('/api/console/invitations', invitation);

export const revokeInvitation = (id: string) =>
  api.delete<Page<Invitation>>(`/api/console/invitations/${encodeURIComponent(id)}`);

export const revokePassport = (id: string) =>
  api.delete<Page<PassportHolder>>(`/api/console/developers/${encodeURIComponent(id)}`);

/** The users whose access was revoked, those who were blocked last come first. */
export const blockedUsersQuery = queryOptions({
  queryKey: ['console', 'blocked-users'],
  queryFn: () => api.get<Page<BlockedUser>>('/api/console/blocked-users'),
});

const blockedUserPath = (did: string) => `/api/console/blocked-users/${encodeURIComponent(did)}`;
export const blockUser = (did: string) => api.put<Page<BlockedUser>>(blockedUserPath(did), {});
export const unblockUser = (did: string) => api.delete<Page<BlockedUser>>(blockedUserPath(did));

/** The roles that an administrator gives and takes: only owners those of administrators. */
export const managedRoles = (user: Pick<SessionUser, 'role'> | null | undefined): InvitedRole[] =>
  user?.role === 'owner' ? ['developer', 'reviewer', 'admin'] : ['developer', 'reviewer'];
