import { store, stored } from '@/lib/storage';
import type { Account } from './types';

const LIST = 'souk-sandbox-accounts';
const CURRENT = 'souk-sandbox-account';

/** Accounts with keys for test tokens, stored only in this browser. */
export function loadAccounts(): Account[] {
  try {
    const list: unknown = JSON.parse(stored(LIST) ?? '[]');
    return Array.isArray(list) ? (list as Account[]).filter((account) => account.address && account.secretKey) : [];
  } catch {
    return [];
  }
}

export const saveAccounts = (accounts: Account[]) => store(LIST, JSON.stringify(accounts));
export const currentAddress = () => stored(CURRENT);
export const saveCurrent = (address: string) => store(CURRENT, address);

/** `z1abc…6789`: a shortened address. */
export const shortAddress = (address: string) => {
  const did = address.replace(/^did:abt:/, '');
  return did.length > 14 ? `${did.slice(0, 7)}…${did.slice(-5)}` : did;
};
