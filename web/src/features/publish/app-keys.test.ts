import { types } from '@arcblock/did';
import { toBase58 } from '@ocap/util';
import { fromSecretKey } from '@ocap/wallet';
import { expect, it } from 'vitest';
import { createAppKey } from './app-keys';

it('gives the key and the DID of the published vector', () => {
  const { did, publicKey } = createAppKey(new Uint8Array(32).fill(1));
  expect([did, publicKey]).toEqual([
    'z2qaBUapGHchD8kuea8xvgBj8KCcA14fv6HfA',
    'zAKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9',
  ]);
});

it('gives keys that the published library reads as those of an app, each another one', () => {
  const { KeyType, HashType, RoleType } = types;
  const type = { role: RoleType.ROLE_BLOCKLET, pk: KeyType.ED25519, hash: HashType.SHA3 };
  const keys = Array.from({ length: 20 }, () => createAppKey());
  for (const { did, publicKey, secretKey } of keys) {
    const wallet = fromSecretKey(secretKey, type as never);
    expect([wallet.address, toBase58(wallet.publicKey)]).toEqual([did, publicKey]);
    expect(did).toMatch(/^z2q/);
  }
  expect(new Set(keys.map(({ secretKey }) => secretKey)).size).toBe(keys.length);
});
