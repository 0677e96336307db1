import { ApiError, errorText } from '@/api/error';
import { locale } from '@/lib/locale';
import commonEn from './en/common.json';
import { textFor } from './light';
import commonZh from './zh/common.json';

const common = { en: commonEn, zh: commonZh };

let messages: typeof import('./error-messages') | undefined;

/**
 * Loads the error messages, which most visits never need. Whoever passes an error on waits for them, so that `translate` has
 * them at once; without them the server's own sentence is shown.
 */
export async function loadErrorMessages(): Promise<void> {
  messages ??= await import('./error-messages').catch(() => undefined);
}

/** A sentence of the server, in the language of the page. */
export const translate = (sentence: string): string => messages?.translateMessage(sentence, locale()) ?? sentence;

/** What the server tells of an error beside its sentence. */
export interface Problem {
  error?: string;
  code?: string;
  params?: Record<string, string>;
}

/** An error by its code; one without a code that the page knows, by its sentences. */
export function translateProblem({ error = 'Unknown error', code, params }: Problem): string {
  return messages?.codeMessage(code, params, locale()) ?? error.split('\n').map(translate).join('\n');
}

/** Why a network or a bank declined, by its code. */
export const translateDecline = ({ code, message }: { code?: string; message?: string }, isCard: boolean): string =>
  code && messages ? messages.declineText(code, isCard, locale()) : translate(message || 'Unknown error');

/** Nothing was answered: each browser has English words of its own for it. */
const isSilence = (error: unknown) =>
  error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError');

/** An error as people read it, in the language of the page. */
export function translateError(error: unknown): string {
  if (isSilence(error)) return textFor(common, locale(), 'error.network');
  const { code, params } = error instanceof ApiError ? error : { code: undefined, params: undefined };
  return translateProblem({ error: errorText(error), code, params });
}
