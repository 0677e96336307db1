import { useCallback, useEffect, useState } from 'react';
import { currentAddress, loadAccounts, saveAccounts, saveCurrent } from './accounts';
import { balances, fundOnce } from './ledger';
import type { Account, KeyKind, Token } from './wire';

export type Keys = typeof import('./keys');

/** The libraries of the wallet; null while they are on their way. */
export function useKeys(): Keys | null {
  const [keys, setKeys] = useState<Keys | null>(null);
  useEffect(() => {
    let gone = false;
    import('./keys').then((loaded) => {
      if (!gone) setKeys(loaded);
    });
    return () => {
      gone = true;
    };
  }, []);
  return keys;
}

export interface Accounts {
  list: Account[];
  current: Account | null;
  choose: (address: string) => void;
  create: (keys: Keys, kind: KeyKind, name: string) => void;
  change: (account: Account) => void;
}

export function useAccounts(): Accounts {
  const [list, setList] = useState(loadAccounts);
  const [address, setAddress] = useState(currentAddress);

  const keep = (next: Account[]) => {
    setList(next);
    saveAccounts(next);
  };
  const choose = useCallback((next: string) => {
    setAddress(next);
    saveCurrent(next);
  }, []);
  const create = (keys: Keys, kind: KeyKind, name: string) => {
    const number = list.length + 1;
    const account = keys.createAccount(kind, name, { fullName: name, email: `account${number}@example.com` });
    keep([...list, account]);
    choose(account.address);
  };
  const change = (account: Account) => keep(list.map((it) => (it.address === account.address ? account : it)));

  const current = list.find((it) => it.address === address) ?? list[0] ?? null;
  return { list, current, choose, create, change };
}

/** The tokens of an account: null while they are read, 'unknown' when the ledger does not answer. */
export function useBalance(address: string | undefined): { tokens: Token[] | 'unknown' | null; refresh: () => void } {
  const [tokens, setTokens] = useState<Token[] | 'unknown' | null>(null);
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each round reads again.
  useEffect(() => {
    if (!address) return;
    let gone = false;
    // A new account is funded before its balance is read; without a faucet it is read as it is.
    const funded = fundOnce(address).catch(() => undefined);
    funded
      .then(() => balances(address))
      .then(
        (found) => {
          if (!gone) setTokens(found);
        },
        () => {
          if (!gone) setTokens('unknown');
        },
      );
    return () => {
      gone = true;
    };
  }, [address, round]);
  return { tokens, refresh: useCallback(() => setRound((it) => it + 1), []) };
}
