import { expect, it } from 'vitest';
import { texts } from '@/features/billing/texts';
import { fieldErrors, isPhone } from './contact-rules';

it('a phone number begins with its country code', () => {
  expect(isPhone('+1 (415) 555-0132')).toBe(true);
  expect(isPhone('+8613800138000')).toBe(true);
  expect(isPhone('13800138000')).toBe(false);
});

it('the errors of the server are translated by their codes', () => {
  const fields = {
    customer_email: { code: 'INVALID' },
    'billing_address.city': { code: 'TOO_LONG', params: { max: '200' } },
    name: { code: 'REQUIRED' },
  } as const;
  expect(fieldErrors(fields, texts.en)).toEqual([
    ['email', 'Enter a valid email address, like name@example.com'],
    ['city', 'Enter at most 200 characters'],
    ['name', 'Required'],
  ]);
  expect(fieldErrors(fields, texts.zh).map(([, text]) => text)).toContain('最多输入 200 个字符');
});
