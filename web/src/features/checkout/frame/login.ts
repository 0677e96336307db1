const PROBE = 'souk_frame';

/**
 * Tests whether the session cookie works in this iframe. It is `SameSite=Lax`, which browsers block in cross-site
 * iframes, so the test sets a cookie of the same kind.
 */
function testCookie(): boolean {
  try {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is asynchronous, and missing in Firefox and Safari.
    document.cookie = `${PROBE}=1; path=/; samesite=lax`;
    const isStored = document.cookie.includes(`${PROBE}=1`);
    // biome-ignore lint/suspicious/noDocumentCookie: as above.
    document.cookie = `${PROBE}=; path=/; samesite=lax; max-age=0`;
    return isStored;
  } catch {
    // A sandboxed iframe.
    return false;
  }
}

export const canStoreSession = testCookie();
