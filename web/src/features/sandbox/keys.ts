import './shims';
import { types } from '@arcblock/did';
import { decode, verify } from '@arcblock/jwt';
import Client from '@ocap/client/legacy';
import { fromBase58, toBase58 } from '@ocap/util';
import { fromRandom, fromSecretKey, type WalletObject } from '@ocap/wallet';
import { type Intention, intentionOf, methodName, type RawData, type TokenAmount } from './transaction';
import type { Account, Claim, Envelope, KeyKind, Permission, Profile } from './wire';

/**
 * Everything that needs the published client libraries: keys, envelopes, transactions. They are loaded with this
 * file, when a wallet is first used.
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

/** Checks that an answer is signed by the store that sends it, and opens it. Null when it is not. */
export async function openEnvelope(appPk: string, authInfo: string): Promise<Envelope | null> {
  const valid = await verify(authInfo, fromBase58(appPk)).catch(() => false);
  return valid ? (decode(authInfo, true) as Envelope) : null;
}

/** Version 1.1.0: the hash of the text is signed, whatever the kind of key. */
export const seal = (account: Account, payload: object): Promise<string> =>
  walletOf(account).signJWT(payload, true, '1.1.0');

interface DecodedTx {
  from: string;
  nonce: number;
  chainId: string;
  serviceFee: string;
  itx: { typeUrl: string; value: string };
}

/** A client that only encodes and signs: what it would ask the network for, it is told. */
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

const NOTHING: DecodedTx = { from: '', nonce: 0, chainId: '', serviceFee: '0', itx: { typeUrl: '', value: '' } };
const decodeTx = (encoded: string): DecodedTx => encoder(NOTHING).decodeTx(encoded) as never;

/** What a transaction would do, and whether it is the account's own. */
export function readTransaction(encoded: string): { from: string; chainId: string; intention: Intention } {
  const { from, chainId, itx } = decodeTx(encoded);
  return { from, chainId, intention: intentionOf(itx.typeUrl, Buffer.from(itx.value, 'base64')) };
}

/** The library writes JSON notes from their value, and other notes from base64. */
const encodable = ({ typeUrl, value }: RawData) => {
  const bytes = Buffer.from(value);
  return { typeUrl, value: typeUrl === 'json' ? JSON.parse(bytes.toString('utf8')) : bytes.toString('base64') };
};

/** Fills the account's inputs into what the store prepared, signs inside and outside, and encodes it. */
async function finalize(account: Account, claim: Claim): Promise<string> {
  const partial = decodeTx(claim.partialTx ?? '');
  const wallet = walletOf(account);
  const read = intentionOf(partial.itx.typeUrl, Buffer.from(partial.itx.value, 'base64'));
  if (read.kind === 'delegate') return signAlone(wallet, partial);
  if (read.kind === 'other') throw new Error(`cannot prepare ${partial.itx.typeUrl}`);
  const { kind: _, data, ...itx } = read;
  const tokens = claim.requirement?.tokens ?? [];
  const inputs = [{ owner: account.address, tokens, assets: [] }];
  const tx = {
    from: partial.from,
    pk: wallet.publicKey,
    nonce: partial.nonce,
    chainId: partial.chainId,
    itx: { ...itx, inputs, ...(data ? { data: encodable(data) } : {}) },
    signatures: [{ signer: account.address, pk: wallet.publicKey }],
  };
  const client = encoder(partial);
  const name = methodName(partial.itx.typeUrl);
  const signedInside = await client[`multiSign${name}`]?.({ tx, wallet });
  return client[`sign${name}`]?.({ tx: signedInside, wallet, encoding: 'base58' }) as Promise<string>;
}

/** Signs what nobody but the sender signs, leaving its inside as it came. */
async function signAlone(wallet: WalletObject, { from, nonce, chainId, serviceFee, itx }: DecodedTx): Promise<string> {
  const tx = { from, pk: wallet.publicKey, nonce, chainId, itx };
  const sign = encoder({ from, nonce, chainId, serviceFee, itx })[`sign${methodName(itx.typeUrl)}`];
  return sign?.({ tx, wallet, encoding: 'base58' }) as Promise<string>;
}

/** The transaction by which an account takes a permission back, in base64url. */
export async function revocation(account: Account, permission: Permission, chainId: string): Promise<string> {
  const wallet = walletOf(account);
  const { address, to, types: typeUrls } = permission;
  const nonce = Date.now() * 1000;
  const tx = { from: account.address, pk: wallet.publicKey, nonce, chainId, itx: { address, to, typeUrls } };
  const client = encoder({ ...NOTHING, chainId, itx: { typeUrl: 'fg:t:revoke_delegate', value: '' } });
  return base64url(await client.signRevokeDelegateTx?.({ tx, wallet, encoding: 'base58' }));
}

/** The transaction that sends tokens of one kind to another account, in base64url. */
export async function transfer(account: Account, to: string, token: TokenAmount, chainId: string): Promise<string> {
  const wallet = walletOf(account);
  const itx = { to, tokens: [token], assets: [] };
  const tx = { from: account.address, pk: wallet.publicKey, nonce: Date.now() * 1000, chainId, itx };
  const client = encoder({ ...NOTHING, chainId, itx: { typeUrl: 'fg:t:transfer_v2', value: '' } });
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

/** The answer to one claim: the claim itself with what was asked for. */
export async function answerClaim(account: Account, claim: Claim): Promise<Claim & Record<string, unknown>> {
  const code = claim.mfaCode?.[0];
  const base = { ...claim, ...(code === undefined ? {} : { mfaCode: [code] }) };
  switch (claim.type) {
    case 'authPrincipal':
      return { ...base, userDid: `did:abt:${account.address}`, userPk: account.publicKey };
    case 'profile': {
      const known: Record<string, string | undefined> = {
        ...account.profile,
        did: account.address,
        avatar: '',
        signature: '',
      };
      const shared = (claim.items ?? []).map((item) => [item, known[item] ?? '']);
      return { ...base, ...Object.fromEntries(shared) };
    }
    case 'signature':
      return { ...base, sig: await signature(account, claim) };
    case 'prepareTx':
      return { ...base, finalTx: await finalize(account, claim) };
    case 'agreement':
      return { ...base, agreed: true, sig: await signature(account, claim) };
    default:
      throw new Error(`unknown claim ${claim.type}`);
  }
}

export const plainText = (origin: string): string => Buffer.from(fromBase58(origin)).toString('utf8');
