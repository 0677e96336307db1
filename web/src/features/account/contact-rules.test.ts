import { describe, expect, it } from 'vitest';
import { emailIsValid, phoneIsValid } from './contact-rules';

describe('an e-mail address', () => {
  it('has one @ and a domain with a dot', () => {
    expect(emailIsValid('mei@example.com')).toBe(true);
    expect(emailIsValid('mei@example')).toBe(false);
    expect(emailIsValid('mei@@example.com')).toBe(false);
    expect(emailIsValid('mei example@example.com')).toBe(false);
  });

  it('has at most 254 characters, 64 of them before the @', () => {
    expect(emailIsValid(`${'a'.repeat(64)}@example.com`)).toBe(true);
    expect(emailIsValid(`${'a'.repeat(65)}@example.com`)).toBe(false);
    expect(emailIsValid(`a@${'b'.repeat(250)}.com`)).toBe(false);
  });
});

describe('a telephone number', () => {
  it('begins with its country code', () => {
    expect(phoneIsValid('+1 (415) 555-0132')).toBe(true);
    expect(phoneIsValid('+8613800138000')).toBe(true);
    expect(phoneIsValid('13800138000')).toBe(false);
  });
});
