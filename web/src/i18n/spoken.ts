import { errorText } from '@/api/error';
import { locale } from '@/lib/locale';
import commonEn from './en/common.json';
import { textFor } from './light';
import commonZh from './zh/common.json';

const common = { en: commonEn, zh: commonZh };

let catalogue: typeof import('./refusals') | undefined;

/**
 * Fetches the words for refusals, which most visits never need. Whoever hands a refusal on waits for them, so that `spoken`
 * has them at once; without them it is told as the server wrote it.
 */
export async function loadRefusals(): Promise<void> {
  catalogue ??= await import('./refusals').catch(() => undefined);
}

/** A sentence of the server, in the language of the page. */
export const spoken = (sentence: string): string => catalogue?.said(sentence, locale()) ?? sentence;

/** Nothing was answered: each browser says so in English words of its own. */
const isSilence = (error: unknown) =>
  error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError');

/** An error as people read it: built as SPEC.md 8 says, each sentence in the language of the page. */
export const spokenError = (error: unknown): string =>
  isSilence(error) ? textFor(common, locale(), 'error.network') : errorText(error).split('\n').map(spoken).join('\n');
