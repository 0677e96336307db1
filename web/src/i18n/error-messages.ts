import type { Locale } from '@/lib/locale';
import en from './en/error-messages.json';
import { textFor, type Values } from './light';
import zh from './zh/error-messages.json';

/** Texts for the codes of the server (`error.`), and for the codes of networks and banks (`code.`). */
const catalogues: { en: Record<string, string>; zh: Record<string, string> } = { en, zh };
type CodeKey = Extract<keyof typeof en, `code.${string}`>;

const textIn = (language: Locale, key: string, values?: Values) => textFor(catalogues, language, key, values);

/** Decline reasons by the codes of networks and banks. */
const CODES: Record<string, CodeKey> = {
  INSUFFICIENT_FUND: 'code.insufficient',
  insufficient_funds: 'code.insufficient',
  INSUFFICIENT_GAS: 'code.gas',
  INSUFFICIENT_DELEGATION: 'code.limit',
  DELEGATION_EXPIRED: 'code.expired',
  DELEGATION_DENIED: 'code.revoked',
  no_mandate: 'code.noMandate',
  expired_card: 'code.cardExpired',
  invalid_expiry_month: 'code.cardExpired',
  invalid_expiry_year: 'code.cardExpired',
  lost_card: 'code.cardGone',
  stolen_card: 'code.cardGone',
  pickup_card: 'code.cardGone',
  resource_missing: 'code.cardGone',
  authentication_required: 'code.confirm',
  abandoned: 'code.canceled',
  amount_differs: 'code.amountDiffers',
  STAKE_TERMS_DIFFER: 'code.stakeTerms',
};

/** The reason of a decline. Codes and messages of networks are not shown to people. */
export function declineText(code: string | null | undefined, isCard: boolean, language: Locale): string {
  const known = CODES[code ?? ''] ?? (code?.startsWith('INVALID_DELEGATION') ? 'code.revoked' : undefined);
  if (known === 'code.insufficient' && isCard) return textIn(language, 'code.cardInsufficient');
  return textIn(language, known ?? (isCard ? 'code.card' : 'code.network'));
}

/** The text for an error code of the server; undefined if there is none or if a value is missing. */
export function codeMessage(
  code: string | undefined,
  params: Record<string, string> = {},
  language: Locale,
): string | undefined {
  if (code === 'NETWORK_DECLINED') return declineText(params.reason, false, language);
  const key = `error.${code}`;
  const text = (en as Record<string, string>)[key];
  if (text === undefined) return undefined;
  const isComplete = [...text.matchAll(/\{(\w+)\}/g)].every(([, name = '']) => name in params);
  return isComplete ? textIn(language, key, params) : undefined;
}

/** A message without a known code. A Chinese page marks an English one as such. */
export function unknownMessage(message: string, language: Locale): string {
  return language === 'zh' && !/\p{Script=Han}/u.test(message)
    ? textIn(language, 'unknown', { sentence: message })
    : message;
}
