import { describe, expect, it } from 'vitest';
import { isEmail } from './email';

describe('an email address', () => {
  it('has one @ and a domain with a dot', () => {
    expect(isEmail('mei@example.com')).toBe(true);
    expect(isEmail('mei@example')).toBe(false);
    expect(isEmail('mei@@example.com')).toBe(false);
    expect(isEmail('mei example@example.com')).toBe(false);
  });

  it('has at most 254 characters, 64 of them before the @', () => {
    expect(isEmail(`${'a'.repeat(64)}@example.com`)).toBe(true);
    expect(isEmail(`${'a'.repeat(65)}@example.com`)).toBe(false);
    expect(isEmail(`a@${'b'.repeat(250)}.com`)).toBe(false);
  });
});
