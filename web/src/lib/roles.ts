import type { SessionUser } from '@/api/types';

type User = Pick<SessionUser, 'role'> | null | undefined;

/** Whether somebody administers the store. */
export const isAdmin = (user: User): boolean => user?.role === 'owner' || user?.role === 'admin';

/** Whether an administrator looks at something of a customer. Their own they manage as its customer. */
export const actsForStore = (
  user: Pick<SessionUser, 'role' | 'did'> | null | undefined,
  customerDid: string | undefined,
): boolean => isAdmin(user) && customerDid !== undefined && customerDid !== user?.did;
