import { ApiError, CodedError, errorText } from '@/api/error';
import { locale } from '@/lib/locale';
import commonEn from './en/common.json';
import { textFor } from './light';
import commonZh from './zh/common.json';

const common = { en: commonEn, zh: commonZh };

let messages: typeof import('./error-messages') | undefined;

/**
 * Loads the error messages, which most visits never need. Code that throws an error awaits this first, so that the
 * functions below are synchronous. Without the messages, the server's English text is shown.
 */
export async function loadErrorMessages(): Promise<void> {
  messages ??= await import('./error-messages').catch(() => undefined);
}

/** A message that has no code. */
export const unknownMessage = (message: string): string => messages?.unknownMessage(message, locale()) ?? message;

/** The parts of an error response. */
export interface Problem {
  error?: string;
  code?: string;
  params?: Record<string, string>;
}

/** The parts of any error. The kit uses the code `forbidden` for requests without a login as well. */
export function problemOf(error: unknown): Problem {
  const text = errorText(error);
  if (error instanceof CodedError) return { error: text, code: error.code };
  if (!(error instanceof ApiError)) return { error: text };
  const { status, code, params } = error;
  return { error: text, code: status === 401 && code === 'forbidden' ? 'SIGNED_OUT' : code, params };
}

/** Translates an error by its code. */
export function translateProblem({ error = 'Unknown error', code, params }: Problem): string {
  return messages?.codeMessage(code, params, locale()) ?? unknownMessage(error);
}

/** Translates the decline of a network or a bank by its code. */
export const translateDecline = ({ code, message }: { code?: string; message?: string }, isCard: boolean): string =>
  messages?.declineText(code, isCard, locale()) ?? (message || 'Unknown error');

/** No response. Each browser words these errors in its own English. */
const isNetworkError = (error: unknown) =>
  error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError');

/** The text of any error in the language of the page. */
export const translateError = (error: unknown): string =>
  isNetworkError(error) ? textFor(common, locale(), 'error.network') : translateProblem(problemOf(error));
