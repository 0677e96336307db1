import { mountPrefix } from '@/api/client';
import type { Permission, Token } from './wire';

const ledger = () => `${mountPrefix()}/sandbox/arcblock`;
const ADDRESS = /^[A-Za-z0-9]+$/;

async function query<T>(host: string, text: string): Promise<T> {
  const answer = await fetch(host, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: text }),
  });
  if (!answer.ok) throw new Error(`ledger answered ${answer.status}`);
  const { data, errors } = (await answer.json()) as { data?: T; errors?: { message: string }[] };
  if (!data) throw new Error(errors?.[0]?.message ?? 'ledger gave no data');
  return data;
}

/** The tokens of an account; none for an account the ledger has not met. */
export async function balances(address: string): Promise<Token[]> {
  if (!ADDRESS.test(address)) return [];
  const fields = 'code state{address tokens{address value decimal symbol}}';
  const { getAccountState } = await query<{ getAccountState: { state: { tokens?: Token[] } | null } }>(
    `${ledger()}/api/`,
    `{getAccountState(address:"${address}"){${fields}}}`,
  );
  return (getAccountState.state?.tokens ?? []).filter((token) => token.value !== '0');
}

/** How a token is called and counted, as its ledger says. */
export async function tokenState(address: string): Promise<{ symbol: string; decimal: number }> {
  if (!ADDRESS.test(address)) throw new Error('not a token address');
  const { getTokenState } = await query<{ getTokenState: { state: { symbol: string; decimal: number } | null } }>(
    `${ledger()}/api/`,
    `{getTokenState(address:"${address}"){code state{address symbol decimal}}}`,
  );
  if (!getTokenState.state) throw new Error('unknown token');
  return getTokenState.state;
}

/** What an account permits to others, without what was revoked. */
export async function permissions(address: string): Promise<Permission[]> {
  if (!ADDRESS.test(address)) return [];
  interface Op {
    key: string;
    value: { limit: { tokens: { address: string; txAllowance: string }[] } };
  }
  const fields = 'address to ops{key value{limit{tokens{address txAllowance}}}}';
  const { listDelegations } = await query<{
    listDelegations: { delegations: { address: string; to: string; ops: Op[] }[] };
  }>(`${ledger()}/api/`, `{listDelegations(from:"${address}"){code delegations{${fields}}}}`);
  const found = listDelegations.delegations.map(({ address, to, ops }) => {
    const limits = ops.flatMap((op) => op.value.limit.tokens);
    const allowances = limits.map((limit) => ({ address: limit.address, value: limit.txAllowance || '0' }));
    const limited =
      ops.every((op) => op.value.limit.tokens.length > 0) && allowances.every(({ value }) => value !== '0');
    return { address, to, types: ops.map((op) => op.key), allowances: limited ? allowances : [] };
  });
  return found.filter((permission) => permission.types.length > 0);
}

/** The name of the ledger's chain, which transactions must carry. */
export async function chainId(): Promise<string> {
  const { getChainInfo } = await query<{ getChainInfo: { info: { network: string } } }>(
    `${ledger()}/api/`,
    '{getChainInfo{code info{network}}}',
  );
  return getChainInfo.info.network;
}

/** Sends a signed transaction (base64url); a refusal is thrown with its words. */
export async function sendTransaction(tx: string): Promise<void> {
  if (!/^[\w-]+$/.test(tx)) throw new Error('not a transaction');
  await query(`${ledger()}/api/`, `mutation{sendTx(tx:"${tx}"){code hash}}`);
}

/** Has the ledger met this account? One that it has met has had its first tokens. */
async function isKnown(address: string): Promise<boolean> {
  if (!ADDRESS.test(address)) return false;
  const { getAccountState } = await query<{ getAccountState: { state: object | null } }>(
    `${ledger()}/api/`,
    `{getAccountState(address:"${address}"){code state{address}}}`,
  );
  return getAccountState.state !== null;
}

const fundings = new Map<string, Promise<void>>();

/**
 * Gives a new account its first test tokens. Called again it answers the same; an account that has ever held tokens gets no
 * more, so that an emptied one stays empty.
 */
export function fundOnce(address: string): Promise<void> {
  const known = fundings.get(address);
  if (known) return known;
  const funding = isKnown(address).then((isOld) => (isOld ? undefined : askFaucet(address)));
  fundings.set(address, funding);
  // It may be tried again after a failure.
  funding.catch(() => fundings.delete(address));
  return funding;
}

/** Asks the faucet; its refusal (too often) is thrown with its words. */
export async function askFaucet(address: string): Promise<void> {
  const answer = await fetch(`${ledger()}/faucet`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ address }),
  });
  if (answer.ok) return;
  const { error } = (await answer.json().catch(() => ({}))) as { error?: string };
  throw new Error(error ?? String(answer.status));
}
