import type { TokenAmount } from './transaction';

export interface AppInfo {
  name: string;
  description?: string;
  icon?: string;
  link?: string;
  publisher?: string;
}

export interface ChainInfo {
  type: string;
  id: string;
  host: string;
}

export type Claim = {
  type: string;
  description?: string;
  meta?: unknown;
  mfaCode?: number[];
  chainInfo?: ChainInfo;
} & {
  target?: string;
  items?: string[];
  typeUrl?: string;
  origin?: string;
  digest?: string;
  method?: string;
  display?: string;
  partialTx?: string;
  requirement?: { tokens?: TokenAmount[] };
  uri?: string;
};

/** The signed content of a response: a request or the result. */
export interface Envelope {
  action?: string;
  challenge?: string;
  appInfo?: AppInfo;
  chainInfo?: ChainInfo;
  requestedClaims?: Claim[];
  url?: string;
  iss?: string;
  status?: 'ok' | 'error';
  errorMessage?: string;
  errorCode?: string;
  errorParams?: Record<string, string>;
  successMessage?: string;
}

export type KeyKind = 'ed25519' | 'ethereum' | 'secp256k1';

export type Profile = Partial<Record<'fullName' | 'email' | 'phone' | 'birthday' | 'url', string>>;

export interface Account {
  kind: KeyKind;
  /** Hex; it never leaves this browser. */
  secretKey: string;
  address: string;
  /** In base58btc, as in the protocol. */
  publicKey: string;
  name: string;
  profile: Profile;
}

export interface Token {
  address: string;
  symbol: string;
  decimal: number;
  /** Base units. */
  value: string;
}

/** A permission for another account to collect payments. */
export interface Permission {
  address: string;
  to: string;
  /** Types of transactions. */
  types: string[];
  /** The maximum of a single payment, per token; empty if a payment has no limit. */
  allowances: TokenAmount[];
}
