/** Where a visitor came from and may go back to: a page of this store, nothing else. */
export function ownReferer(referer: string | undefined, origin: string): string | undefined {
  if (!referer) return undefined;
  try {
    const { origin: theirs, pathname, search, hash } = new URL(referer, origin);
    return theirs === origin ? `${pathname}${search}${hash}` : undefined;
  } catch {
    return undefined;
  }
}
