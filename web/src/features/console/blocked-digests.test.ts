// @vitest-environment happy-dom
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DIGEST_REASON_MAX, digestOf, shortDigest } from './blocked-digests';

const DIGEST = 'ab'.repeat(32);

describe('a digest', () => {
  it.each([
    [DIGEST, DIGEST],
    [` ${DIGEST.toUpperCase()}\n`, DIGEST],
    [DIGEST.slice(1), undefined],
    [`${DIGEST}a`, undefined],
    [`x${DIGEST.slice(1)}`, undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is %s', (typed, digest) => {
    expect(digestOf(typed)).toBe(digest);
  });

  it('is shown by its beginning and its end', () => {
    expect(shortDigest(`0123456789${DIGEST.slice(10)}`)).toBe('01234567…ababab');
  });
});

it('a reason is as long as the server allows', () => {
  const review = join(import.meta.dirname, '../../../../crates/domain/src/publishing/review');
  const [, max = ''] = /BLOCK_REASON_MAX: usize = ([\d_]+)/.exec(readFileSync(join(review, 'state.rs'), 'utf8')) ?? [];
  expect(DIGEST_REASON_MAX).toBe(Number(max.replace('_', '')));
});
