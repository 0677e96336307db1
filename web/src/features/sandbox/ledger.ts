import { mountPrefix } from '@/api/client';
import { t } from './text';
import type { Permission, Token } from './types';

const ledger = () => `${mountPrefix()}/sandbox/arcblock`;
/** The store has switched its sandbox off. */
export class SandboxOff extends Error {}

/** Throws if the sandbox is off; other failures are left to the caller. */
async function checkIsOn(response: Response): Promise<void> {
  if (response.status !== 503) return;
  const body = (await response
    .clone()
    .json()
    .catch(() => ({}))) as { code?: string };
  if (body.code === 'SANDBOX_OFF') throw new SandboxOff(t('off'));
}

/** The message of a refusal, such as that too much was sent from this address. */
async function errorOf(response: Response): Promise<string> {
  const { error } = (await response.json().catch(() => ({}))) as { error?: string };
  return error ?? `ledger responded with ${response.status}`;
}

const ADDRESS = /^[A-Za-z0-9]+$/;

async function query<T>(host: string, text: string): Promise<T> {
  const response = await fetch(host, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: text }),
  });
  await checkIsOn(response);
  if (!response.ok) throw new Error(await errorOf(response));
  const { data, errors } = (await response.json()) as { data?: T; errors?: { message: string }[] };
  if (!data) throw new Error(errors?.[0]?.message ?? 'ledger returned no data');
  return data;
}

/** The tokens of an account; empty for an account that the ledger does not know. */
export async function balances(address: string): Promise<Token[]> {
  if (!ADDRESS.test(address)) return [];
  const fields = 'code state{address tokens{address value decimal symbol}}';
  const { getAccountState } = await query<{ getAccountState: { state: { tokens?: Token[] } | null } }>(
    `${ledger()}/api/`,
    `{getAccountState(address:"${address}"){${fields}}}`,
  );
  return (getAccountState.state?.tokens ?? []).filter((token) => token.value !== '0');
}

/** The symbol and decimals of a token on the ledger. */
export async function tokenState(address: string): Promise<{ symbol: string; decimal: number }> {
  if (!ADDRESS.test(address)) throw new Error('not a token address');
  const { getTokenState } = await query<{ getTokenState: { state: { symbol: string; decimal: number } | null } }>(
    `${ledger()}/api/`,
    `{getTokenState(address:"${address}"){code state{address symbol decimal}}}`,
  );
  if (!getTokenState.state) throw new Error('unknown token');
  return getTokenState.state;
}

/** The active permissions that an account has granted. */
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
  const granted = listDelegations.delegations.map(({ address, to, ops }) => {
    const limits = ops.flatMap((op) => op.value.limit.tokens);
    const allowances = limits.map((limit) => ({ address: limit.address, value: limit.txAllowance || '0' }));
    const isLimited =
      ops.every((op) => op.value.limit.tokens.length > 0) && allowances.every(({ value }) => value !== '0');
    return { address, to, types: ops.map((op) => op.key), allowances: isLimited ? allowances : [] };
  });
  return granted.filter((permission) => permission.types.length > 0);
}

/** The name of the ledger's chain, which transactions must contain. */
export async function chainId(): Promise<string> {
  const { getChainInfo } = await query<{ getChainInfo: { info: { network: string } } }>(
    `${ledger()}/api/`,
    '{getChainInfo{code info{network}}}',
  );
  return getChainInfo.info.network;
}

/** Sends a signed transaction (base64url); throws the ledger's message if it is rejected. */
export async function sendTransaction(tx: string): Promise<void> {
  if (!/^[\w-]+$/.test(tx)) throw new Error('not a transaction');
  await query(`${ledger()}/api/`, `mutation{sendTx(tx:"${tx}"){code hash}}`);
}

/** Whether the ledger knows the account. A known account has already received its first tokens. */
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
 * Funds a new account once. An account that has ever held tokens gets no more, so that an emptied account stays empty.
 */
export function fundOnce(address: string): Promise<void> {
  const pending = fundings.get(address);
  if (pending) return pending;
  const funding = isKnown(address).then((isFunded) => (isFunded ? undefined : requestTokens(address)));
  fundings.set(address, funding);
  // A failed attempt can be repeated.
  funding.catch(() => fundings.delete(address));
  return funding;
}

/** Requests tokens from the faucet; throws its message if it declines, for example by rate limit. */
export async function requestTokens(address: string): Promise<void> {
  const response = await fetch(`${ledger()}/faucet`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ address }),
  });
  if (response.ok) return;
  await checkIsOn(response);
  throw new Error(await errorOf(response));
}
