/**
 * What the server has written down by English names, said by those that the reader's language has for them: a name alone,
 * "Atlas + 2" for the first of three, or all of them, "Atlas, Quill". What is not one of these stays as it is.
 */
export function renamed(written: string, nameOf: (name: string) => string | undefined): string {
  const [, first, others] = /^(.+) \+ (\d+)$/.exec(written) ?? [];
  const whole = nameOf(written);
  if (whole || !first) return whole ?? allRenamed(written, nameOf);
  const name = nameOf(first);
  return name ? `${name} + ${others}` : written;
}

function allRenamed(written: string, nameOf: (name: string) => string | undefined): string {
  const names = written.split(', ').map(nameOf);
  return names.every(Boolean) ? names.join('、') : written;
}
