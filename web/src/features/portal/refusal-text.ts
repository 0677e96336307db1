import type { Key, Texts } from './texts';

/** Why networks and banks refuse, in the payer's words; their own codes and sentences are not for people. */
const REASONS: Record<string, Key> = {
  INSUFFICIENT_FUND: 'refusal.funds',
  insufficient_funds: 'refusal.funds',
  INSUFFICIENT_DELEGATION: 'refusal.limit',
  DELEGATION_EXPIRED: 'refusal.expired',
  DELEGATION_DENIED: 'refusal.revoked',
  no_mandate: 'refusal.noMandate',
  expired_card: 'refusal.cardExpired',
  invalid_expiry_month: 'refusal.cardExpired',
  invalid_expiry_year: 'refusal.cardExpired',
  lost_card: 'refusal.cardGone',
  stolen_card: 'refusal.cardGone',
  pickup_card: 'refusal.cardGone',
  resource_missing: 'refusal.cardGone',
  authentication_required: 'refusal.confirm',
};

export function refusalText(code: string | null | undefined, isCard: boolean, { t }: Pick<Texts, 't'>): string {
  const known = REASONS[code ?? ''] ?? (code?.startsWith('INVALID_DELEGATION') ? 'refusal.revoked' : undefined);
  if (known === 'refusal.funds' && isCard) return t('refusal.cardFunds');
  return t(known ?? (isCard ? 'refusal.card' : 'refusal.network'));
}
