import { errorText } from '@/api/error';
import en from '@/i18n/en/checkout.json';
import commonEn from '@/i18n/en/common.json';
import { type Key, t } from '../text';

/** The server's own sentences are English; those of the catalogue are said in the language of the page. */
const KNOWN = new Map(
  Object.entries({ ...commonEn, ...en })
    .filter(([key]) => key.startsWith('refusal.') || key.startsWith('error.'))
    .map(([key, text]) => [text, key as Key]),
);

export function spoken(sentence: string): string {
  const key = KNOWN.get(sentence);
  return key ? t(key) : sentence;
}

/** An error as people read it: built as SPEC.md 8 says, in the language of the page where we know how. */
export const spokenError = (error: unknown): string => errorText(error).split('\n').map(spoken).join('\n');
