import type { Locale } from '@/lib/locale';
import en from './en/error-messages.json';
import { textFor, type Values } from './light';
import zh from './zh/error-messages.json';

/**
 * What the server, networks and card processors refuse with, in the words of the page. The keys of the catalogue are the
 * server's own sentences, with `{name}` for what differs from case to case; those that begin with `code.` are about codes.
 */
const catalogues: { en: Record<string, string>; zh: Record<string, string> } = { en, zh };
type CodeKey = Extract<keyof typeof en, `code.${string}`>;

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

interface Pattern {
  key: string;
  shape: RegExp;
  names: string[];
}

/** Sentences with something in them, those with the most words of their own first. */
const PATTERNS: Pattern[] = Object.keys(en)
  .filter((key) => key.includes('{'))
  .sort((a, b) => b.replace(/\{\w+\}/g, '').length - a.replace(/\{\w+\}/g, '').length)
  .map((key) => ({
    key,
    shape: new RegExp(
      `^${key
        .split(/\{\w+\}/)
        .map(escaped)
        .join('(.*?)')}$`,
      's',
    ),
    names: [...key.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? ''),
  }));

const textIn = (language: Locale, key: string, values?: Values) => textFor(catalogues, language, key, values);

/** Why networks and banks refuse, by their codes. */
const CODES: Record<string, CodeKey> = {
  INSUFFICIENT_FUND: 'code.funds',
  insufficient_funds: 'code.funds',
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
};

/** Why a payment was refused; codes and sentences of networks are not for people. */
export function declineText(code: string | null | undefined, isCard: boolean, language: Locale): string {
  const known = CODES[code ?? ''] ?? (code?.startsWith('INVALID_DELEGATION') ? 'code.revoked' : undefined);
  if (known === 'code.funds' && isCard) return textIn(language, 'code.cardFunds');
  return textIn(language, known ?? (isCard ? 'code.card' : 'code.network'));
}

/** The page's text for an error code of the server; undefined where it has none, or where a value of the text is missing. */
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

/** A refusal of the chain has only its code to say. */
const NETWORK = /^The network refused the payment \((.*)\)\.$/;

const isWritten = (sentence: string) => Object.hasOwn(en, sentence) && !/^(code|error)\./.test(sentence);

/** A sentence of the server in the language of the page. On a Chinese page, one that nobody knows says so at least. */
export function translateMessage(sentence: string, language: Locale): string {
  const [, code] = NETWORK.exec(sentence) ?? [];
  if (code !== undefined) return declineText(code, false, language);
  if (isWritten(sentence)) return textIn(language, sentence);
  for (const { key, shape, names } of PATTERNS) {
    const found = shape.exec(sentence);
    if (found) return textIn(language, key, Object.fromEntries(names.map((name, at) => [name, found[at + 1] ?? ''])));
  }
  return language === 'zh' && !/\p{Script=Han}/u.test(sentence) ? textIn(language, 'unknown', { sentence }) : sentence;
}
