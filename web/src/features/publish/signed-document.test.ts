import { fromBase58, toBase58 } from '@ocap/util';
import { fromPublicKey, fromSecretKey } from '@ocap/wallet';
import { expect, it } from 'vitest';
// The tests of the server read and sign the same document.
import document from '../../../../crates/adapters/src/testing/signed_document.json';

/** The published example key of `@ocap/wallet`. */
const SECRET_KEY = 'z5HicV7RRRbTqoHUe1XfcngQsyNZhM7Vuiexg7hkDkBXFEk7s8zevb4jYQjHpUzm6VUfe1sh38437cCjiTKBftz8N';

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
/** The text that is signed: keys in order, without spaces. */
const canonical = (value: unknown) =>
  JSON.stringify(value, (_key, part) => (isObject(part) ? Object.fromEntries(Object.entries(part).sort()) : part));

it('verifies a document and its bundle with the published library, and refuses altered ones', async () => {
  expect(document.signatures).toHaveLength(1);
  for (const { sig, ...entry } of document.signatures) {
    const signed = canonical({ ...document, signatures: [entry] });
    const wallet = fromPublicKey(fromBase58(entry.pk));
    expect(wallet.address).toBe(entry.signer);
    expect(await wallet.verify(signed, fromBase58(sig))).toBe(true);
    for (const change of [{ version: '1.0.1' }, { dist: { ...document.dist, integrity: 'sha512-' } }]) {
      const altered = canonical({ ...document, ...change, signatures: [entry] });
      expect(await wallet.verify(altered, fromBase58(sig))).toBe(false);
    }
  }
});

it('gives the same signature with the published library', async () => {
  const wallet = fromSecretKey(fromBase58(SECRET_KEY));
  for (const { sig, ...entry } of document.signatures) {
    expect([wallet.address, toBase58(wallet.publicKey)]).toEqual([entry.signer, entry.pk]);
    const signed = canonical({ ...document, signatures: [entry] });
    expect(toBase58(await wallet.sign(signed, true, 'buffer'))).toBe(sig);
  }
});
