// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { isRepository, isRepositoryId, jobExample } from './trusted-publishers';

describe('a repository', () => {
  it.each([
    ['octo/night-sky', 'github', true],
    [' /octo/night.sky_2/ ', 'github', true],
    ['night-sky', 'github', false],
    ['octo/group/night-sky', 'github', false],
    ['octo/night sky', 'github', false],
    ['https://github.com/octo/night-sky', 'github', false],
    [undefined, 'github', false],
    ['group/night-sky', 'gitlab', true],
    ['group/sub/night-sky', 'gitlab', true],
    ['group//night-sky', 'gitlab', false],
    ['night-sky', 'gitlab', false],
  ] as const)('%s of %s is valid: %s', (text, provider, valid) => {
    expect(isRepository(text, provider)).toBe(valid);
  });
});

it('the id of a repository is a number, or nothing', () => {
  for (const text of [undefined, '', ' 42 ', '9'.repeat(20)]) expect(isRepositoryId(text)).toBe(true);
  for (const text of ['0', '-1', 'R_kgDO', '4 2', '9'.repeat(21)]) expect(isRepositoryId(text)).toBe(false);
});

it('a job names the store and may ask for a token', () => {
  const audience = 'https://store.example';
  expect(jobExample('github', audience)).toMatch(/id-token: write[\s\S]*SOUK_STORE: https:\/\/store\.example\n/);
  expect(jobExample('gitlab', audience)).toMatch(/SOUK_ID_TOKEN:\n {6}aud: https:\/\/store\.example\n/);
});
