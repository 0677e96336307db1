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

/** What the store asks, or how it ended: the body of its signed envelope. */
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
  /** Hex. It never leaves this browser. */
  secretKey: string;
  address: string;
  /** base58btc, as it goes over the wire. */
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

/** What an account permits another to do in its name. */
export interface Permission {
  address: string;
  to: string;
  /** Types of transactions. */
  types: string[];
  /** The most of one payment, per token; none when some payment has no limit. */
  allowances: TokenAmount[];
}
