/**
 * The page to return to, which must be a page of this store. Returns the full URL, because a browser reads the path of
 * `https://store//elsewhere/x` alone as another host.
 */
export function ownReferer(referer: string | undefined, origin: string): string | undefined {
  if (!referer) return undefined;
  try {
    const { origin: refererOrigin, href } = new URL(referer, origin);
    return refererOrigin === origin ? href : undefined;
  } catch {
    return undefined;
  }
}
