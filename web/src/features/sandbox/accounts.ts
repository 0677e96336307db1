import { store, stored } from '@/lib/storage';
import type { Account } from './wire';

const LIST = 'souk-sandbox-accounts';
const CURRENT = 'souk-sandbox-account';

/** Keys of test money, kept in this browser only. */
export function loadAccounts(): Account[] {
  try {
    const list: unknown = JSON.parse(stored(LIST) ?? '[]');
    return Array.isArray(list) ? (list as Account[]).filter((it) => it.address && it.secretKey) : [];
  } catch {
    return [];
  }
}

export const saveAccounts = (accounts: Account[]) => store(LIST, JSON.stringify(accounts));
export const currentAddress = () => stored(CURRENT);
export const saveCurrent = (address: string) => store(CURRENT, address);

/** `z1abc…6789`: enough to tell accounts apart; the whole address stands beside it once. */
export const short = (address: string) => {
  const bare = address.replace(/^did:abt:/, '');
  return bare.length > 14 ? `${bare.slice(0, 7)}…${bare.slice(-5)}` : bare;
};
