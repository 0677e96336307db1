// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';
import { arePatterns, isDeveloper } from './access-tokens';

describe('app patterns', () => {
  it.each([
    [['*'], true],
    [['my-app', '@scope/app_1.x-*'], true],
    [[], false],
    [undefined, false],
    [['my app'], false],
    [['a'.repeat(65)], false],
    [Array.from({ length: 21 }, (_, index) => `app${index}`), false],
  ])('%j are valid: %s', (apps, valid) => {
    expect(arePatterns(apps)).toBe(valid);
  });
});

it('an administrator is a developer only with a passport of that role', () => {
  expect(isDeveloper({ passports: [{ role: 'owner', name: 'owner' }] })).toBe(false);
  expect(
    isDeveloper({
      passports: [
        { role: 'owner', name: 'owner' },
        { role: 'developer', name: 'developer' },
      ],
    }),
  ).toBe(true);
  expect(isDeveloper(null)).toBe(false);
});
