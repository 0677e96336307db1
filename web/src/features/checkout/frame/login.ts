const PROBE = 'souk_frame';

/**
 * Can somebody stay signed in here? The cookie of the login is `SameSite=Lax`, which browsers keep from a frame in the
 * page of another site; one of the same kind is tried. Which pages are one site, only the browser knows.
 */
function tried(): boolean {
  try {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is asynchronous, and missing in Firefox and Safari.
    document.cookie = `${PROBE}=1; path=/; samesite=lax`;
    const held = document.cookie.includes(`${PROBE}=1`);
    // biome-ignore lint/suspicious/noDocumentCookie: as above.
    document.cookie = `${PROBE}=; path=/; samesite=lax; max-age=0`;
    return held;
  } catch {
    // A sandboxed frame.
    return false;
  }
}

export const holdsLogin = tried();
