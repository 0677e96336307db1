/**
 * Localizes English names that the server stored: a single name, "Atlas + 2" for the first of three, or a list like
 * "Atlas, Quill". Any other text stays as it is.
 */
export function localizeNames(stored: string, nameOf: (name: string) => string | undefined): string {
  const [, first, others] = /^(.+) \+ (\d+)$/.exec(stored) ?? [];
  const exact = nameOf(stored);
  if (exact || !first) return exact ?? localizeList(stored, nameOf);
  const name = nameOf(first);
  return name ? `${name} + ${others}` : stored;
}

function localizeList(stored: string, nameOf: (name: string) => string | undefined): string {
  const names = stored.split(', ').map(nameOf);
  return names.every(Boolean) ? names.join('、') : stored;
}
