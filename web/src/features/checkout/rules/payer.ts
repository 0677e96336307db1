import { fetchSession } from '@/api/session';
import type { SessionUser } from '../types';

/** `did:abt:z1…` and `z1…` are the same account. */
const withoutPrefix = (did: string) => did.replace(/^did:abt:/, '');

/** Whether the paying account belongs to the user, who must still be signed in. */
export async function isPayer(payer: string, user: SessionUser | null): Promise<boolean> {
  const currentUser = (await fetchSession().catch(() => null))?.user ?? user;
  if (!currentUser || currentUser.did !== user?.did) return false;
  return [currentUser.did, ...(currentUser.connectedAccounts ?? []).map((account) => account.did)].some(
    (did) => did && withoutPrefix(did) === withoutPrefix(payer),
  );
}
