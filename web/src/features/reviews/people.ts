import type { ReviewEntry, VersionReview } from '@/api/types';
import type { Key, Texts } from './texts';

const ROLES: Record<string, Key> = {
  app_owner: 'role.app_owner',
  reviewer: 'role.reviewer',
  admin: 'role.admin',
  store_owner: 'role.store_owner',
  system: 'role.system',
};

/** The role in words; one that this page does not know as it is. */
export function roleText(role: string, t: Texts['t']): string {
  const key = ROLES[role];
  return key ? t(key) : role;
}

export const shortDid = (did: string): string => `${did.slice(0, 8)}…${did.slice(-6)}`;

export const actorText = ({ actor, actor_name: name, role }: ReviewEntry, t: Texts['t']): string =>
  role === 'system' ? t('role.system') : name || shortDid(actor);

/** The name of somebody who has acted in this review. */
export function personText(did: string, { thread }: Pick<VersionReview, 'thread'>, userDid: string, t: Texts['t']) {
  if (did === userDid) return t('person.you');
  return thread.find(({ actor, actor_name: name }) => actor === did && name)?.actor_name ?? shortDid(did);
}
