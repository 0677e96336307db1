import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { types } from '@arcblock/did';
import { fromBase58 } from '@ocap/util';
import { fromPublicKey } from '@ocap/wallet';
import { expect, it } from 'vitest';

/** The test vectors of what a store signs, as documented. */
const documented = readFileSync(join(import.meta.dirname, '../../../../docs/INSTALLING.md'), 'utf8');
const all = (pattern: RegExp) => [...documented.matchAll(pattern)].map(([, found = '']) => found);
const texts = all(/^```\n(souk-[a-z]+-1\n[^`]*)^```$/gm);
const digests = all(/^\| SHA3-256 of the \w+ \| `(\w+)` \|$/gm);
const signatures = all(/^\| its signature \| `(\w+)` \|$/gm);
const [publicKey = ''] = all(/^\| public key \| `(\w+)` \|$/gm);

const { KeyType, HashType, RoleType } = types;
const type = { role: RoleType.ROLE_APPLICATION, pk: KeyType.ED25519, hash: HashType.SHA3 };
const store = fromPublicKey(fromBase58(publicKey), type as never);

it('the published library verifies the documented license and release', async () => {
  expect(texts.map((text) => text.split('\n', 1)[0])).toEqual(['souk-license-1', 'souk-release-1']);
  expect([digests.length, signatures.length]).toEqual([2, 2]);
  for (const [index, text] of texts.entries()) {
    expect(text).toContain(`\nstore: ${store.address}\n`);
    const [bytes, signature] = [new TextEncoder().encode(text), fromBase58(signatures[index] ?? '')];
    expect(store.hash(bytes).replace(/^0x/, '').toLowerCase()).toBe(digests[index]);
    expect(await store.verify(bytes, signature)).toBe(true);
    const altered = new TextEncoder().encode(text.replace('app: z8', 'app: z1'));
    expect(await store.verify(altered, signature)).toBe(false);
  }
});
