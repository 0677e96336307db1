import { ed25519 } from '@noble/curves/ed25519.js';
import { sha3_256 } from '@noble/hashes/sha3.js';
import { base58 } from '@scure/base';

/** The type bytes of a DID: role BLOCKLET (15), key ed25519 (0), hash SHA3-256 (1) (reference/store.md 5.1). */
const APP_TYPE = [(15 << 2) | 0, 1];

/** The key of an app. Its DID is derived from the public key. */
export interface AppKey {
  did: string;
  /** 32 bytes, multibase base58btc. */
  publicKey: string;
  /** The seed and the public key, 64 bytes, multibase base58btc. */
  secretKey: string;
}

const multibase = (bytes: Uint8Array) => `z${base58.encode(bytes)}`;

/**
 * Creates a key in this browser. WebCrypto's own ed25519 is missing on plain http and in older browsers, so only the
 * random bytes come from it.
 */
export function createAppKey(seed: Uint8Array = crypto.getRandomValues(new Uint8Array(32))): AppKey {
  const publicKey = ed25519.getPublicKey(seed);
  return {
    did: didOf(publicKey),
    publicKey: multibase(publicKey),
    secretKey: multibase(Uint8Array.of(...seed, ...publicKey)),
  };
}

function didOf(publicKey: Uint8Array): string {
  const body = Uint8Array.of(...APP_TYPE, ...sha3_256(publicKey).subarray(0, 20));
  return multibase(Uint8Array.of(...body, ...sha3_256(body).subarray(0, 4)));
}
