import './shims';
import { types } from '@arcblock/did';
import { decode, verify } from '@arcblock/jwt';
import Client from '@ocap/client/legacy';
import { fromBase58, toBase58 } from '@ocap/util';
import { fromRandom, fromSecretKey, type WalletObject } from '@ocap/wallet';
import { methodName, type ParsedTransaction, parseTransaction, type RawData, type TokenAmount } from './transaction';
import type { Account, Claim, Envelope, KeyKind, Permission, Profile } from './types';

/**
 * Functions that need the published client libraries: keys, envelopes, transactions. This file and the libraries load
 * when a wallet is first used.
 */

const { KeyType, HashType, RoleType } = types;
const TYPES = {
  ed25519: { role: RoleType.ROLE_ACCOUNT, pk: KeyType.ED25519, hash: HashType.SHA3 },
  secp256k1: { role: RoleType.ROLE_ACCOUNT, pk: KeyType.SECP256K1, hash: HashType.SHA3 },
  ethereum: 'ethereum',
} as const;

const walletOf = (account: Pick<Account, 'kind' | 'secretKey'>): WalletObject =>
  fromSecretKey(account.secretKey, TYPES[account.kind] as never);

export function createAccount(kind: KeyKind, name: string, profile: Profile): Account {
  const wallet: WalletObject = fromRandom(TYPES[kind] as never);
  return {
    kind,
    secretKey: wallet.secretKey,
    address: wallet.address,
    publicKey: toBase58(wallet.publicKey),
    name,
    profile,
  };
}

/** Verifies that the store signed a response, and decodes it; null if not. */
export async function verifyEnvelope(appPk: string, authInfo: string): Promise<Envelope | null> {
  const valid = await verify(authInfo, fromBase58(appPk)).catch(() => false);
  return valid ? (decode(authInfo, true) as Envelope) : null;
}

/** Version 1.1.0 signs the hash of the text for every key type. */
export const signPayload = (account: Account, payload: object): Promise<string> =>
  walletOf(account).signJWT(payload, true, '1.1.0');

interface DecodedTx {
  from: string;
  nonce: number;
  chainId: string;
  serviceFee: string;
  itx: { typeUrl: string; value: string };
}

/** A client that only encodes and signs; the chain data that it would fetch is passed in. */
function encoder({ chainId, serviceFee, itx }: DecodedTx) {
  const client = new Client('http://localhost/', false) as never as Record<
    string,
    (input: object) => Promise<never>
  > & {
    ctx: { ready: boolean };
    context: object;
    decodeTx: (input: string) => DecodedTx;
  };
  client.ctx.ready = true;
  client.context = { chainId, txConfig: { txFee: [{ typeUrl: itx.typeUrl, fee: serviceFee }] } };
  return client;
}

const EMPTY_TX: DecodedTx = { from: '', nonce: 0, chainId: '', serviceFee: '0', itx: { typeUrl: '', value: '' } };
const decodeTx = (encoded: string): DecodedTx => encoder(EMPTY_TX).decodeTx(encoded) as never;

/** The effect of a transaction, its sender and its chain. */
export function readTransaction(encoded: string): { from: string; chainId: string; parsed: ParsedTransaction } {
  const { from, chainId, itx } = decodeTx(encoded);
  return { from, chainId, parsed: parseTransaction(itx.typeUrl, Buffer.from(itx.value, 'base64')) };
}

/** The library encodes JSON data from its value, and other data from base64. */
const encodableData = ({ typeUrl, value }: RawData) => {
  const bytes = Buffer.from(value);
  return { typeUrl, value: typeUrl === 'json' ? JSON.parse(bytes.toString('utf8')) : bytes.toString('base64') };
};

/** Adds the account's inputs to the prepared transaction, adds the inner and outer signatures, and encodes it. */
async function finalize(account: Account, claim: Claim): Promise<string> {
  const partial = decodeTx(claim.partialTx ?? '');
  const wallet = walletOf(account);
  const parsed = parseTransaction(partial.itx.typeUrl, Buffer.from(partial.itx.value, 'base64'));
  if (parsed.kind === 'delegate') return signSingle(wallet, partial);
  if (parsed.kind === 'other') throw new Error(`cannot prepare ${partial.itx.typeUrl}`);
  const { kind: _, data, ...itx } = parsed;
  const tokens = claim.requirement?.tokens ?? [];
  const inputs = [{ owner: account.address, tokens, assets: [] }];
  const tx = {
    from: partial.from,
    pk: wallet.publicKey,
    nonce: partial.nonce,
    chainId: partial.chainId,
    itx: { ...itx, inputs, ...(data ? { data: encodableData(data) } : {}) },
    signatures: [{ signer: account.address, pk: wallet.publicKey }],
  };
  const client = encoder(partial);
  const name = methodName(partial.itx.typeUrl);
  const multiSigned = await client[`multiSign${name}`]?.({ tx, wallet });
  return client[`sign${name}`]?.({ tx: multiSigned, wallet, encoding: 'base58' }) as Promise<string>;
}

/** Signs a transaction with a single signer, without changing its content. */
async function signSingle(wallet: WalletObject, { from, nonce, chainId, serviceFee, itx }: DecodedTx): Promise<string> {
  const tx = { from, pk: wallet.publicKey, nonce, chainId, itx };
  const sign = encoder({ from, nonce, chainId, serviceFee, itx })[`sign${methodName(itx.typeUrl)}`];
  return sign?.({ tx, wallet, encoding: 'base58' }) as Promise<string>;
}

/** The transaction that revokes a permission, in base64url. */
export async function revocation(account: Account, permission: Permission, chainId: string): Promise<string> {
  const wallet = walletOf(account);
  const { address, to, types: typeUrls } = permission;
  const nonce = Date.now() * 1000;
  const tx = { from: account.address, pk: wallet.publicKey, nonce, chainId, itx: { address, to, typeUrls } };
  const client = encoder({ ...EMPTY_TX, chainId, itx: { typeUrl: 'fg:t:revoke_delegate', value: '' } });
  return base64url(await client.signRevokeDelegateTx?.({ tx, wallet, encoding: 'base58' }));
}

/** The transaction that sends one token to another account, in base64url. */
export async function transfer(account: Account, to: string, token: TokenAmount, chainId: string): Promise<string> {
  const wallet = walletOf(account);
  const itx = { to, tokens: [token], assets: [] };
  const tx = { from: account.address, pk: wallet.publicKey, nonce: Date.now() * 1000, chainId, itx };
  const client = encoder({ ...EMPTY_TX, chainId, itx: { typeUrl: 'fg:t:transfer_v2', value: '' } });
  return base64url(await client.signTransferV2Tx?.({ tx, wallet, encoding: 'base58' }));
}

const base64url = (signed: string | undefined) =>
  Buffer.from(fromBase58(signed ?? ''))
    .toString('base64')
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

async function signature(account: Account, claim: Claim): Promise<string> {
  const wallet = walletOf(account);
  if (claim.digest) return toBase58(await wallet.sign(fromBase58(claim.digest), false));
  const hash = claim.method !== 'none';
  return toBase58(await wallet.sign(fromBase58(claim.origin ?? ''), hash));
}

/** The response to a claim: the claim with the requested data. */
export async function completeClaim(account: Account, claim: Claim): Promise<Claim & Record<string, unknown>> {
  const code = claim.mfaCode?.[0];
  const response = { ...claim, ...(code === undefined ? {} : { mfaCode: [code] }) };
  switch (claim.type) {
    case 'authPrincipal':
      return { ...response, userDid: `did:abt:${account.address}`, userPk: account.publicKey };
    case 'profile': {
      const values: Record<string, string | undefined> = {
        ...account.profile,
        did: account.address,
        avatar: '',
        signature: '',
      };
      const shared = (claim.items ?? []).map((item) => [item, values[item] ?? '']);
      return { ...response, ...Object.fromEntries(shared) };
    }
    case 'signature':
      return { ...response, sig: await signature(account, claim) };
    case 'prepareTx':
      return { ...response, finalTx: await finalize(account, claim) };
    case 'agreement':
      return { ...response, agreed: true, sig: await signature(account, claim) };
    default:
      throw new Error(`unknown claim ${claim.type}`);
  }
}

export const plainText = (origin: string): string => Buffer.from(fromBase58(origin)).toString('utf8');
