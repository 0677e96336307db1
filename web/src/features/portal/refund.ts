import type { SessionUser } from '@/api/types';
import { formatAmount } from '@/lib/amount';

/** Why money is given back, as the kit names it. */
export const REFUND_REASONS = ['requested_by_customer', 'duplicate', 'fraudulent', 'requested_by_admin'] as const;
export type RefundReason = (typeof REFUND_REASONS)[number];

/** Who may give money back. */
export const mayRefund = (user: Pick<SessionUser, 'role'> | null | undefined) =>
  user?.role === 'owner' || user?.role === 'admin';

/** Base units as somebody types them. */
export const typedAmount = (units: bigint, decimals: number) => formatAmount(units.toString(), decimals);
