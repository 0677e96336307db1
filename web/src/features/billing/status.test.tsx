import { render } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { InvoiceStatus } from '@/api/types';
import { InvoiceTags } from './status';

const tagsOf = (billing_reason: string, status: InvoiceStatus) =>
  render(<InvoiceTags invoice={{ status, billing_reason }} />).container.textContent;

it('an invoice over a returned or used deposit is not called paid', () => {
  expect(tagsOf('return_stake', 'paid')).toBe('Returned');
  expect(tagsOf('slash_stake', 'paid')).toBe('Used');
  expect(tagsOf('subscription_cycle', 'paid')).toBe('Paid');
  expect(tagsOf('return_stake', 'open')).toBe('Open');
});
