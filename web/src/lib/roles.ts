import type { SessionUser } from '@/api/types';

type User = Pick<SessionUser, 'role'> | null | undefined;

/** Whether a user administers the store. */
export const isAdmin = (user: User): boolean => user?.role === 'owner' || user?.role === 'admin';

/** Whether an administrator views an object of another customer. Their own objects they manage as a customer. */
export const actsForStore = (
  user: Pick<SessionUser, 'role' | 'did'> | null | undefined,
  customerDid: string | undefined,
): boolean => isAdmin(user) && customerDid !== undefined && customerDid !== user?.did;
