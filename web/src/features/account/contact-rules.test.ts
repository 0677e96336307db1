import { expect, it } from 'vitest';
import { isPhone } from './contact-rules';

it('a phone number begins with its country code', () => {
  expect(isPhone('+1 (415) 555-0132')).toBe(true);
  expect(isPhone('+8613800138000')).toBe(true);
  expect(isPhone('13800138000')).toBe(false);
});
