import { ApiError, errorText } from '@/api/error';
import { locale } from '@/lib/locale';
import commonEn from './en/common.json';
import { textFor } from './light';
import commonZh from './zh/common.json';

const common = { en: commonEn, zh: commonZh };

let messages: typeof import('./error-messages') | undefined;

/**
 * Loads the error messages, which most visits never need. Code that throws an error awaits this first, so that
 * `translate` is synchronous. Without the messages, the server's English text is shown.
 */
export async function loadErrorMessages(): Promise<void> {
  messages ??= await import('./error-messages').catch(() => undefined);
}

/** A message of the server in the language of the page. */
export const translate = (message: string): string => messages?.translateMessage(message, locale()) ?? message;

/** The parts of an error response. */
export interface Problem {
  error?: string;
  code?: string;
  params?: Record<string, string>;
}

/** Translates an error by its code, or by its message if the code is unknown. */
export function translateProblem({ error = 'Unknown error', code, params }: Problem): string {
  return messages?.codeMessage(code, params, locale()) ?? error.split('\n').map(translate).join('\n');
}

/** Translates the decline of a network or a bank by its code. */
export const translateDecline = ({ code, message }: { code?: string; message?: string }, isCard: boolean): string =>
  code && messages ? messages.declineText(code, isCard, locale()) : translate(message || 'Unknown error');

/** No response. Each browser words these errors in its own English. */
const isNetworkError = (error: unknown) =>
  error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError');

/** The text of any error in the language of the page. */
export function translateError(error: unknown): string {
  if (isNetworkError(error)) return textFor(common, locale(), 'error.network');
  const { code, params } = error instanceof ApiError ? error : { code: undefined, params: undefined };
  return translateProblem({ error: errorText(error), code, params });
}
