import { render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Subscription } from '@/api/types';
import { PlanChangeNotice } from './plan-change-notice';

const change = { status: 'waiting', price_id: 'price_2', reason: null, decline_code: null, created_at: 1 };
const withChange = (fields: Partial<typeof change> | Record<string, string>) =>
  ({ pending_plan_change: { ...change, ...fields } }) as unknown as Subscription;

it('says that a plan change waits for the network', () => {
  render(<PlanChangeNotice subscription={withChange({})} />);
  expect(screen.getByRole('note').textContent).toContain('Your plan change is being confirmed');
});

it('says why a plan change failed, with the reason of the network, and that the deposit is returned', () => {
  const failed = { status: 'failed', reason: 'delegation_declined', decline_code: 'INSUFFICIENT_FUND' };
  render(<PlanChangeNotice subscription={withChange(failed)} />);
  const text = screen.getByRole('note').textContent;
  expect(text).toContain('The network declined the payment authorization.');
  expect(text).toContain('Your wallet has insufficient funds.');
  expect(text).toContain('Any deposit paid for this change will be returned.');
});

it('renders nothing without a plan change', () => {
  const { container } = render(
    <PlanChangeNotice subscription={{ pending_plan_change: null } as unknown as Subscription} />,
  );
  expect(container.textContent).toBe('');
});
