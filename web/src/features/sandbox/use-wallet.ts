import { useCallback, useEffect, useState } from 'react';
import { currentAddress, loadAccounts, saveAccounts, saveCurrent } from './accounts';
import { balances, fundOnce, SandboxOff } from './ledger';
import type { Account, KeyKind, Token } from './types';

export type Keys = typeof import('./keys');

/** The wallet libraries; null while they load. */
export function useKeys(): Keys | null {
  const [keys, setKeys] = useState<Keys | null>(null);
  useEffect(() => {
    let unmounted = false;
    import('./keys').then((loaded) => {
      if (!unmounted) setKeys(loaded);
    });
    return () => {
      unmounted = true;
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

  const save = (next: Account[]) => {
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
    save([...list, account]);
    choose(account.address);
  };
  const change = (account: Account) => save(list.map((each) => (each.address === account.address ? account : each)));

  const current = list.find((each) => each.address === address) ?? list[0] ?? null;
  return { list, current, choose, create, change };
}

/** `unknown`: the ledger does not respond. `off`: the sandbox is switched off. Null while loading. */
export type Tokens = Token[] | 'unknown' | 'off' | null;

/** The tokens of an account. */
export function useBalance(address: string | undefined): { tokens: Tokens; refresh: () => void } {
  const [tokens, setTokens] = useState<Tokens>(null);
  const [reloads, setReloads] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `reloads` triggers a reload.
  useEffect(() => {
    if (!address) return;
    let unmounted = false;
    // A new account is funded first; without a faucet its balance is still loaded.
    const funding = fundOnce(address).catch(() => undefined);
    funding
      .then(() => balances(address))
      .then(
        (loaded) => {
          if (!unmounted) setTokens(loaded);
        },
        (error: unknown) => {
          if (!unmounted) setTokens(error instanceof SandboxOff ? 'off' : 'unknown');
        },
      );
    return () => {
      unmounted = true;
    };
  }, [address, reloads]);
  return { tokens, refresh: useCallback(() => setReloads((each) => each + 1), []) };
}
