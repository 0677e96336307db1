/**
 * Where a visitor came from and may go back to: a page of this store, nothing else. The whole address, never its path alone:
 * the path of `https://store//elsewhere/x` would be read as another host.
 */
export function ownReferer(referer: string | undefined, origin: string): string | undefined {
  if (!referer) return undefined;
  try {
    const { origin: theirs, href } = new URL(referer, origin);
    return theirs === origin ? href : undefined;
  } catch {
    return undefined;
  }
}
