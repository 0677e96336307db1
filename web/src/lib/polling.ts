/** SPEC.md 9: a payment is polled every 2 s, up to 3 minutes. */
export const POLL_MS = 2000;
export const POLL_TIMEOUT_MS = 180_000;
