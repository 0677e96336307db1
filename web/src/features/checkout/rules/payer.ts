import { fetchSession } from '@/api/session';
import type { SessionUser } from '../wire';

/** `did:abt:z1…` and `z1…` are one account. */
const bare = (did: string) => did.replace(/^did:abt:/, '');

/** Is the account that would pay one of the user's, who is still signed in here? */
export async function isPayer(payer: string, user: SessionUser | null): Promise<boolean> {
  const present = (await fetchSession().catch(() => null))?.user ?? user;
  if (!present || present.did !== user?.did) return false;
  return [present.did, ...(present.connectedAccounts ?? []).map((it) => it.did)].some(
    (did) => did && bare(did) === bare(payer),
  );
}
