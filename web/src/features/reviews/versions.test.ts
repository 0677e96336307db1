import { expect, it } from 'vitest';
import { compareVersions } from './versions';

it('versions have the precedence of semantic versioning', () => {
  const ascending = [
    '0.9.10',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.0.10',
    '1.2.0',
    '2.0.0-x-y',
  ];
  const shuffled = [...ascending].reverse();
  expect(shuffled.sort(compareVersions)).toEqual(ascending);
  expect(compareVersions('1.0.0+build.1', '1.0.0')).toBe(0);
});
