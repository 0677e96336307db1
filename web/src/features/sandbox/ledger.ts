import { mountPrefix } from '@/api/client';
import type { Token } from './wire';

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
