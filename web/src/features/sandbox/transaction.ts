import { bytesOf, type Fields, messages, numberOf, readFields, textOf, texts } from './protobuf';

/** Field numbers are those of chains.md 3.1, which names them from the chain's own specification. */

export interface TokenAmount {
  address: string;
  /** Base units. */
  value: string;
}

export interface Share {
  owner: string;
  tokens: TokenAmount[];
  assets: string[];
}

export interface RawData {
  typeUrl: string;
  value: Uint8Array;
}

export type Intention =
  | { kind: 'transfer'; inputs: Share[]; outputs: Share[]; data?: RawData }
  | {
      kind: 'stake';
      inputs: Share[];
      address: string;
      receiver: string;
      locked: boolean;
      message: string;
      revokeWaitingPeriod: number;
      slashers: string[];
      nonce: string;
      data?: RawData;
    }
  | {
      kind: 'delegate';
      to: string;
      /** The most of one payment, per token. */
      allowances: TokenAmount[];
      /** Some payment has no limit: no token is named, or one without an allowance. */
      unlimited: boolean;
      /** What else may be sent in the account's name. */
      others: string[];
    }
  | { kind: 'other'; typeUrl: string };

const tokensOf = (fields: Fields, field: number): TokenAmount[] =>
  messages(fields, field).map((token) => ({ address: textOf(token, 1), value: textOf(token, 2) || '0' }));

const sharesOf = (fields: Fields, field: number): Share[] =>
  messages(fields, field).map((share) => ({
    owner: textOf(share, 1),
    tokens: tokensOf(share, 2),
    assets: texts(share, 3),
  }));

function dataOf(fields: Fields, field: number): RawData | undefined {
  const data = messages(fields, field)[0];
  return data && { typeUrl: textOf(data, 1), value: bytesOf(data, 2) ?? new Uint8Array() };
}

/** The one type of transaction that takes a payment by permission. */
const PULL = 'fg:t:transfer_v2';

function delegationOf(fields: Fields): Intention {
  const ops = messages(fields, 3);
  const pulls = ops.filter((op) => textOf(op, 1) === PULL);
  const limitsOf = (op: Fields) => messages(op, 3).flatMap((limit) => messages(limit, 1));
  const allowances = pulls.flatMap(limitsOf).map((limit) => ({ address: textOf(limit, 1), value: textOf(limit, 4) }));
  return {
    kind: 'delegate',
    to: textOf(fields, 2),
    allowances: allowances.filter(({ value }) => /^\d*[1-9]\d*$/.test(value)),
    unlimited: pulls.some((op) => limitsOf(op).length === 0) || allowances.some(({ value }) => /^0*$/.test(value)),
    others: ops.map((op) => textOf(op, 1)).filter((typeUrl) => typeUrl !== PULL),
  };
}

/** What a transaction does, read from its inner message. */
export function intentionOf(typeUrl: string, value: Uint8Array): Intention {
  const fields = readFields(value);
  switch (typeUrl) {
    case 'fg:t:transfer_v3':
      return { kind: 'transfer', inputs: sharesOf(fields, 1), outputs: sharesOf(fields, 2), data: dataOf(fields, 15) };
    case 'fg:t:stake':
      return {
        kind: 'stake',
        address: textOf(fields, 1),
        receiver: textOf(fields, 2),
        inputs: sharesOf(fields, 3),
        locked: numberOf(fields, 4) === 1,
        message: textOf(fields, 5),
        revokeWaitingPeriod: numberOf(fields, 6),
        slashers: texts(fields, 7),
        nonce: textOf(fields, 8),
        data: dataOf(fields, 50),
      };
    case 'fg:t:delegate':
      return delegationOf(fields);
    default:
      return { kind: 'other', typeUrl };
  }
}

/** The readable note a transaction carries, when it is JSON. */
export function noteOf(data: RawData | undefined): Record<string, unknown> | null {
  if (data?.typeUrl !== 'json') return null;
  try {
    return JSON.parse(new TextDecoder().decode(data.value)) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** Sums per token: what an answer to this would take from the account. */
export function totals(lists: TokenAmount[][]): TokenAmount[] {
  const sums = new Map<string, bigint>();
  for (const { address, value } of lists.flat()) sums.set(address, (sums.get(address) ?? 0n) + BigInt(value));
  return [...sums].map(([address, value]) => ({ address, value: value.toString() }));
}

/** The name of the library's methods for a type: `fg:t:transfer_v3` is `TransferV3Tx`. */
export function methodName(typeUrl: string): string {
  const words = typeUrl.replace(/^fg:t:/, '').split('_');
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Tx`;
}
