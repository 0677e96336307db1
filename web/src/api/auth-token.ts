import { setDefaultParams } from './client';

/**
 * Links in our emails carry a token that opens a single page. The token is sent with the API calls of that page and
 * dropped on navigation.
 */
const initialPath = window.location.pathname;
const initialToken = new URLSearchParams(window.location.search).get('authToken') || undefined;

export const authToken = (): string | undefined =>
  window.location.pathname === initialPath ? initialToken : undefined;

setDefaultParams(() => ({ authToken: authToken() }));
