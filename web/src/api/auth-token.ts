import { setDefaultParams } from './client';

/**
 * The links of our mails carry a token that opens the one page they lead to: it is sent with the calls of that page
 * and forgotten on the next.
 */
const opened = window.location.pathname;
const held = new URLSearchParams(window.location.search).get('authToken') || undefined;

export const authToken = (): string | undefined => (window.location.pathname === opened ? held : undefined);

setDefaultParams(() => ({ authToken: authToken() }));
