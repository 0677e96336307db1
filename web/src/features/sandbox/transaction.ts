import { bytesOf, type Fields, messages, numberOf, readFields, textOf, texts } from './protobuf';

/** Field numbers as in chains.md 3.1, named after the chain's specification. */

export interface TokenAmount {
  address: string;
  /** Base units. */
  value: string;
}

export interface TokenInput {
  owner: string;
  tokens: TokenAmount[];
  assets: string[];
}

export interface RawData {
  typeUrl: string;
  value: Uint8Array;
}

export type ParsedTransaction =
  | { kind: 'transfer'; inputs: TokenInput[]; outputs: TokenInput[]; data?: RawData }
  | {
      kind: 'stake';
      inputs: TokenInput[];
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
      /** The maximum of a single payment, per token. */
      allowances: TokenAmount[];
      /** At least one payment has no limit: without a token, or without an allowance. */
      unlimited: boolean;
      /** Other transaction types that are allowed. */
      others: string[];
    }
  | { kind: 'other'; typeUrl: string };

const tokensOf = (fields: Fields, field: number): TokenAmount[] =>
  messages(fields, field).map((token) => ({ address: textOf(token, 1), value: textOf(token, 2) || '0' }));

const inputsOf = (fields: Fields, field: number): TokenInput[] =>
  messages(fields, field).map((input) => ({
    owner: textOf(input, 1),
    tokens: tokensOf(input, 2),
    assets: texts(input, 3),
  }));

function dataOf(fields: Fields, field: number): RawData | undefined {
  const data = messages(fields, field)[0];
  return data && { typeUrl: textOf(data, 1), value: bytesOf(data, 2) ?? new Uint8Array() };
}

/** The only transaction type that collects a payment by delegation. */
const COLLECT = 'fg:t:transfer_v2';

function delegationOf(fields: Fields): ParsedTransaction {
  const ops = messages(fields, 3);
  const collects = ops.filter((op) => textOf(op, 1) === COLLECT);
  const limitsOf = (op: Fields) => messages(op, 3).flatMap((limit) => messages(limit, 1));
  const allowances = collects
    .flatMap(limitsOf)
    .map((limit) => ({ address: textOf(limit, 1), value: textOf(limit, 4) }));
  return {
    kind: 'delegate',
    to: textOf(fields, 2),
    allowances: allowances.filter(({ value }) => /^\d*[1-9]\d*$/.test(value)),
    unlimited: collects.some((op) => limitsOf(op).length === 0) || allowances.some(({ value }) => /^0*$/.test(value)),
    others: ops.map((op) => textOf(op, 1)).filter((typeUrl) => typeUrl !== COLLECT),
  };
}

/** Parses the effect of a transaction from its inner message. */
export function parseTransaction(typeUrl: string, value: Uint8Array): ParsedTransaction {
  const fields = readFields(value);
  switch (typeUrl) {
    case 'fg:t:transfer_v3':
      return { kind: 'transfer', inputs: inputsOf(fields, 1), outputs: inputsOf(fields, 2), data: dataOf(fields, 15) };
    case 'fg:t:stake':
      return {
        kind: 'stake',
        address: textOf(fields, 1),
        receiver: textOf(fields, 2),
        inputs: inputsOf(fields, 3),
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

/** The JSON data of a transaction, if any. */
export function noteOf(data: RawData | undefined): Record<string, unknown> | null {
  if (data?.typeUrl !== 'json') return null;
  try {
    return JSON.parse(new TextDecoder().decode(data.value)) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** Totals per token. */
export function totals(lists: TokenAmount[][]): TokenAmount[] {
  const byAddress = new Map<string, bigint>();
  for (const { address, value } of lists.flat()) byAddress.set(address, (byAddress.get(address) ?? 0n) + BigInt(value));
  return [...byAddress].map(([address, value]) => ({ address, value: value.toString() }));
}

/** The library's method suffix for a type: `fg:t:transfer_v3` is `TransferV3Tx`. */
export function methodName(typeUrl: string): string {
  const parts = typeUrl.replace(/^fg:t:/, '').split('_');
  return `${parts.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('')}Tx`;
}
